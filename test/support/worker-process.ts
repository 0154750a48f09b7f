import { isWorkflow } from '../../src/define/define-workflow.ts'
import { createRegistry } from '../../src/define/registry.ts'
import type { LogFields, Logger } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { startTelemetry } from '../../src/otel.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import { stopOnSignals } from '../../src/worker/signals.ts'
import type { Timings } from '../../src/worker/timings.ts'
import { WorkerCore } from '../../src/worker/worker.ts'
import { openBodyLog } from './body-log.ts'
import { FailingDatabase, type FailPoint } from './fail-points.ts'
import { giveOrder, listen, ordered, type Told } from './tell.ts'
import { optionsFor } from './variant.ts'

/**
 * The process that forkWorker starts: one worker, which tells over IPC what it does. It has no handler that would keep
 * it alive: what an error would end in production, it ends here.
 */

export interface ProcessOptions {
  readonly connectionString: string
  /** The module whose exported workflows it runs. */
  readonly module: string
  readonly concurrency: number
  readonly graceMs: number
  readonly timings: Timings
  /** The file to which it logs what bodies do. Default: none. */
  readonly bodyLog?: string
  /** Armed from the start. */
  readonly failPoint?: FailPoint
  /** It loads all it needs and starts when it gets the order `start`. */
  readonly isReserve?: boolean
  /** Where it exports spans and metrics to, and under what name. Default: nowhere. */
  readonly otlp?: { readonly endpoint: string; readonly serviceName: string }
}

export type Report =
  | { readonly type: 'ready'; readonly workerId: string }
  | { readonly type: 'told'; readonly told: Told }
  | { readonly type: 'log'; readonly level: keyof Logger; readonly message: string; readonly fields: LogFields }

/** What the test sends: a word that a handler waits for, or where to fail next. */
export type Order = { readonly order: string } | { readonly arm: FailPoint | undefined }

const options = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions
const { connectionString, module, concurrency, graceMs, timings, bodyLog, failPoint, isReserve, otlp } = options
const exporting = otlp && (await startTelemetry({ ...otlp, metricsEvery: '500ms' }))
if (bodyLog !== undefined) openBodyLog(bodyLog)
const database = new FailingDatabase({ ...optionsFor({ connectionString }), clock: systemClock })
database.arm(failPoint)
const report = (message: Report): void => void process.send?.(message)
const write =
  (level: keyof Logger) =>
  (fields: LogFields, message: string): void =>
    report({ type: 'log', level, message, fields: JSON.parse(JSON.stringify(fields, readably)) as LogFields })

process.on('message', (order: Order) => {
  if ('order' in order) giveOrder(order.order)
  else database.arm(order.arm)
})
// Nothing is left behind when the test ends without a word.
process.on('disconnect', () => process.exit(1))
listen((told) => report({ type: 'told', told }))

const exported: unknown[] = Object.values((await import(module)) as object)
const log: Logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
const worker = new WorkerCore({
  database,
  registry: createRegistry(exported.filter((value) => isWorkflow(value))),
  concurrency,
  graceMs,
  clock: systemClock,
  log,
  timings,
  telemetry: new Telemetry({ schema: database.names.schema, log }),
  prepare: () => Promise.resolve(),
  release: () => database.close(),
})
stopOnSignals(worker)
if (isReserve) await ordered('start')
await worker.start()
report({ type: 'ready', workerId: worker.id })
await worker.done
await exporting?.shutdown()
// With the channel closed the process ends by itself, unless the worker left something behind.
process.removeAllListeners('disconnect')
process.disconnect()

function readably(_: string, value: unknown): unknown {
  return value instanceof Error ? `${value.name}: ${value.message}` : value
}
