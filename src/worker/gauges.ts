import type { Database } from '../db/database.ts'
import { readMetrics } from '../db/metrics-calls.ts'
import type { Clock } from '../model/clock.ts'
import type { Observe } from '../trace/meters.ts'
import { observeDatabase } from '../trace/observe-database.ts'
import type { Meter } from '../trace/tracing.ts'
import type { Part } from './part.ts'
import type { Slots } from './slots.ts'

/** An SDK that collects waits for this, and for the other metrics of its process with it. */
const longestReadMs = 5_000

export interface GaugesOptions {
  readonly database: Database
  readonly workerId: string
  readonly slots: Slots
  readonly concurrency: number
  readonly meters: Meter
  readonly clock: Clock
}

/** Answers when an SDK asks how full this worker is and, if the database chose it to tell for all, what waits there. */
export class Gauges implements Part {
  readonly #options: GaugesOptions
  #end: () => void = () => undefined

  constructor(options: GaugesOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#end = this.#options.meters.observe((observe) => this.#tell(observe))
    await Promise.resolve()
  }

  async stop(): Promise<void> {
    this.#end()
    await Promise.resolve()
  }

  async #tell(observe: Observe): Promise<void> {
    const { database, workerId, slots, concurrency, clock } = this.#options
    const worker = { 'holdfast.worker.id': workerId }
    observe('holdfast.worker.slot.limit', concurrency, worker)
    observe('holdfast.worker.slot.usage', slots.size, worker)
    const enough = new AbortController()
    const late = clock.sleep(longestReadMs, enough.signal).then(() => undefined)
    // One that cannot be asked has nothing to say just now.
    const read = readMetrics(database, workerId).catch(() => undefined)
    const standing = await Promise.race([read, late])
    enough.abort()
    if (standing) observeDatabase(standing, observe)
  }
}
