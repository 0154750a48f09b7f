import { Database } from '../../src/db/database.ts'
import { isWorkflow } from '../../src/define/define-workflow.ts'
import { createRegistry } from '../../src/define/registry.ts'
import type { LogFields, Logger } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { stopOnSignals } from '../../src/worker/signals.ts'
import type { Timings } from '../../src/worker/timings.ts'
import { WorkerCore } from '../../src/worker/worker.ts'
import { giveOrder, listen, type Told } from './tell.ts'

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
}

export type Report =
  | { readonly type: 'ready'; readonly workerId: string }
  | { readonly type: 'told'; readonly told: Told }
  | { readonly type: 'log'; readonly level: keyof Logger; readonly message: string; readonly fields: LogFields }

/** What the test sends: a word that a handler waits for. */
export interface Order {
  readonly order: string
}

const options = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions
const report = (message: Report): void => void process.send?.(message)
const write =
  (level: keyof Logger) =>
  (fields: LogFields, message: string): void =>
    report({ type: 'log', level, message, fields: JSON.parse(JSON.stringify(fields, readably)) as LogFields })

process.on('message', ({ order }: Order) => giveOrder(order))
// Nothing is left behind when the test ends without a word.
process.on('disconnect', () => process.exit(1))
listen((told) => report({ type: 'told', told }))

const { connectionString, module, concurrency, graceMs, timings } = options
const database = new Database({ connectionString, clock: systemClock })
const exported: unknown[] = Object.values((await import(module)) as object)
const worker = new WorkerCore({
  database,
  registry: createRegistry(exported.filter((value) => isWorkflow(value))),
  concurrency,
  graceMs,
  clock: systemClock,
  log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
  timings,
  prepare: () => Promise.resolve(),
  release: () => database.close(),
})
stopOnSignals(worker)
await worker.start()
report({ type: 'ready', workerId: worker.id })
await worker.done
// With the channel closed the process ends by itself, unless the worker left something behind.
process.removeAllListeners('disconnect')
process.disconnect()

function readably(_: string, value: unknown): unknown {
  return value instanceof Error ? `${value.name}: ${value.message}` : value
}
