import type { Database } from '../db/database.ts'
import { readMetrics } from '../db/metrics-calls.ts'
import type { Clock } from '../model/clock.ts'
import type { Standing } from '../model/standing.ts'
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

/**
 * Answers when an SDK asks how full this worker is and, if the database chose it to tell for all, what waits there.
 *
 * An SDK goes on exporting what it was last told. So what was said once and is no more is said to be 0, which the largest
 * of what all workers say passes over; after the worker's end, too.
 */
export class Gauges implements Part {
  readonly #options: GaugesOptions
  readonly #said = new Map<string, readonly [Parameters<Observe>[0], Parameters<Observe>[2]]>()
  #isStopped = false
  #reading: Promise<{ readonly standing: Standing | undefined } | undefined> | undefined
  #end: () => void = () => undefined

  constructor(options: GaugesOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#end = this.#options.meters.observe((observe) => this.#tell(observe))
    await Promise.resolve()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#said.size === 0) this.#end()
    await Promise.resolve()
  }

  async #tell(observe: Observe): Promise<void> {
    const before = new Map(this.#said)
    const say: Observe = (name, value, attributes) => {
      const series = JSON.stringify([name, attributes])
      this.#said.set(series, [name, attributes])
      before.delete(series)
      observe(name, value, attributes)
    }
    if (this.#isStopped) this.#end()
    else if (!(await this.#say(say))) return
    for (const [name, attributes] of before.values()) observe(name, 0, attributes)
  }

  /** False: the database could not be asked just now. */
  async #say(observe: Observe): Promise<boolean> {
    const { workerId, slots, concurrency } = this.#options
    const worker = { 'holdfast.worker.id': workerId }
    observe('holdfast.worker.slot.limit', concurrency, worker)
    observe('holdfast.worker.slot.usage', slots.size, worker)
    for (const [workflow, count] of slots.byWorkflow()) {
      observe('holdfast.claim.active', count, { 'holdfast.workflow.name': workflow, ...worker })
    }
    // Several SDKs that collect at once share it.
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    const read = await this.#reading
    if (read?.standing) observeDatabase(read.standing, observe)
    return read !== undefined
  }

  async #read(): Promise<{ readonly standing: Standing | undefined } | undefined> {
    const { database, workerId, clock } = this.#options
    const enough = new AbortController()
    const late = clock.sleep(longestReadMs, enough.signal).then(() => undefined)
    const read = readMetrics(database, workerId).then(
      (standing) => ({ standing }),
      () => undefined,
    )
    const first = await Promise.race([read, late])
    enough.abort()
    return first
  }
}
