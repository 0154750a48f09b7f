import { promoteDue } from '../db/calls.ts'
import type { Database } from '../db/database.ts'
import type { Clock } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import { Lookout } from './lookout.ts'
import type { Part } from './part.ts'

const batch = 500

/** Gives scheduled and suspended runs their tickets at the instant they are due, by the database's clock. */
export class Promoter implements Part {
  readonly #database: Database
  readonly #log: Logger
  readonly #lookMs: number
  readonly #lookout: Lookout

  constructor(database: Database, lookMs: number, clock: Clock, log: Logger) {
    this.#database = database
    this.#lookMs = lookMs
    this.#log = log
    this.#lookout = new Lookout(clock, () => this.#promote())
  }

  async start(): Promise<void> {
    await this.#lookout.start()
  }

  async stop(): Promise<void> {
    await this.#lookout.stop()
  }

  /** The next due time may have changed. */
  look(): void {
    this.#lookout.look()
  }

  /** Answers when the next run is due. */
  async #promote(): Promise<number> {
    let waitMs = this.#lookMs
    try {
      for (let promoted = batch; promoted === batch && !this.#lookout.isStopped;) {
        this.#lookout.begin()
        const result = await promoteDue(this.#database, batch)
        promoted = result.promoted
        waitMs = Math.min(this.#lookMs, result.next_ms ?? Infinity)
      }
    } catch (error) {
      this.#log.warn({ error }, 'Due runs could not be promoted; tried again.')
    }
    return waitMs
  }
}
