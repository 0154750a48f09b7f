import { promoteDue } from '../db/calls.ts'
import type { Database } from '../db/database.ts'
import type { Clock, Timer } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import type { Part } from './part.ts'

const batch = 500

/** Gives scheduled and suspended runs their tickets at the instant they are due, by the database's clock. */
export class Promoter implements Part {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Logger
  readonly #lookMs: number
  #isStopped = true
  #isWanted = false
  #looking: Promise<void> | undefined
  #timer: Timer | undefined

  constructor(database: Database, lookMs: number, clock: Clock, log: Logger) {
    this.#database = database
    this.#lookMs = lookMs
    this.#clock = clock
    this.#log = log
  }

  async start(): Promise<void> {
    this.#isStopped = false
    this.look()
    await this.#looking
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#looking
  }

  /** The next due time may have changed. */
  look(): void {
    if (this.#isStopped) return
    this.#isWanted = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
      if (this.#isWanted) this.look()
    })
  }

  async #look(): Promise<void> {
    this.#timer?.cancel()
    let waitMs = this.#lookMs
    try {
      for (let promoted = batch; promoted === batch && !this.#isStopped;) {
        this.#isWanted = false
        const result = await promoteDue(this.#database, batch)
        promoted = result.promoted
        waitMs = Math.min(this.#lookMs, result.next_ms ?? Infinity)
      }
    } catch (error) {
      this.#log.warn({ error }, 'Due runs could not be promoted; tried again.')
    }
    if (!this.#isStopped) this.#timer = this.#clock.after(Math.max(1, waitMs), () => this.look())
  }
}
