import { afterEach } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { createRegistry } from '../../src/define/registry.ts'
import { createClient, type Client, type Logger, type Workflow } from '../../src/index.ts'
import { systemClock, type Clock } from '../../src/model/clock.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import type { WorkerTelemetry } from '../../src/trace/tracing.ts'
import type { Timings } from '../../src/worker/timings.ts'
import { WorkerCore } from '../../src/worker/worker.ts'
import type { Address } from './database.ts'
import { fastTimings, rareLooks } from './fast-timings.ts'
import { HandClock } from './hand-clock.ts'
import type { LogLine } from './log-line.ts'
import { optionsFor } from './variant.ts'

export { fastTimings, rareLooks, type LogLine }

export interface TestWorkerOptions {
  readonly workflows: readonly Workflow[]
  readonly concurrency?: number
  readonly graceMs?: number
  readonly timings?: Timings
  readonly clock?: Clock
  readonly logger?: Logger
  readonly telemetry?: WorkerTelemetry
  readonly poolSize?: number
  /** A database that does something else than it is asked. */
  readonly kind?: typeof Database
}

const toClose: (() => Promise<unknown>)[] = []

afterEach(async () => {
  await Promise.all(toClose.splice(0).map((close) => close()))
})

/** A worker in this process, stopped after the test at the latest. */
export async function startWorker(database: Address, options: TestWorkerOptions): Promise<WorkerCore> {
  const { workflows, concurrency = 16, graceMs = 1_000, timings = fastTimings } = options
  const { clock = systemClock, logger = silentLogger, poolSize, kind = Database, telemetry } = options
  const own = new kind({ ...optionsFor(database), clock, size: poolSize })
  const worker = new WorkerCore({
    database: own,
    registry: createRegistry(workflows),
    concurrency,
    graceMs,
    clock,
    log: logger,
    telemetry,
    // By a clock that outruns the wire, no answer is ever in time.
    timings: clock instanceof HandClock ? { ...timings, pulseMs: Infinity } : timings,
    prepare: () => Promise.resolve(),
    release: () => own.close(),
  })
  toClose.push(() => worker.stop({ grace: 0 }))
  await worker.start()
  return worker
}

/** A client, closed after the test. */
export function openClient(database: Address): Client {
  const client = createClient({ ...optionsFor(database), migrate: 'off' })
  toClose.push(() => client.close())
  return client
}

/** A logger that keeps its lines. */
export function recordingLogger(): Logger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const write = (level: keyof Logger) => (fields: LogLine['fields'], message: string) =>
    void lines.push({ level, message, fields })
  return { lines, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

/** A promise and the function that resolves it: a signal between a test and a handler. */
export function signal<T = void>(): { readonly promise: Promise<T>; readonly give: (value: T) => void } {
  let give: (value: T) => void = () => undefined
  const promise = new Promise<T>((resolve) => void (give = resolve))
  return { promise, give }
}
