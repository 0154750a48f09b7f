import { buryWorkers, sweepPass, type SweepPass } from '../db/calls.ts'
import type { Database } from '../db/database.ts'
import type { Clock, Timer } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import type { Part } from './part.ts'

const batch = 500
/** A suspect is tested again after this, which is how far apart the two tests must be. */
const secondTestMs = 510

/** Bounded housekeeping that any worker may do: dead workers, dead leases, missed deadlines, lost tickets. */
export class Sweeper implements Part {
  readonly #database: Database
  readonly #workerId: string
  readonly #sweepMs: number
  readonly #clock: Clock
  readonly #log: Logger
  #isStopped = true
  #timer: Timer | undefined
  #sweeping: Promise<void> = Promise.resolve()

  constructor(database: Database, workerId: string, sweepMs: number, clock: Clock, log: Logger) {
    this.#database = database
    this.#workerId = workerId
    this.#sweepMs = sweepMs
    this.#clock = clock
    this.#log = log
  }

  async start(): Promise<void> {
    this.#isStopped = false
    this.#arm(0)
    await Promise.resolve()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#sweeping
  }

  #arm(ms: number): void {
    if (!this.#isStopped) this.#timer = this.#clock.after(ms, () => void (this.#sweeping = this.#sweep()))
  }

  async #sweep(): Promise<void> {
    let nextMs = this.#sweepMs
    try {
      const { dead, suspected } = await buryWorkers(this.#database, this.#workerId)
      if (dead > 0) this.#log.warn({ dead }, 'Workers were found dead; their runs are taken over.')
      if (suspected > 0) nextMs = Math.min(nextMs, secondTestMs)
      const ended = await this.#pass('end_leases')
      if (ended > 0) this.#log.warn({ ended }, 'Claims of lost workers were ended.')
      await this.#pass('fail_overdue')
      await sweepPass(this.#database, 'reissue_tickets', batch)
    } catch (error) {
      this.#log.warn({ error }, 'A sweep failed; it is done again.')
    }
    this.#arm(nextMs)
  }

  async #pass(pass: SweepPass): Promise<number> {
    let total = 0
    for (let count = batch; count === batch && !this.#isStopped; total += count) {
      count = await sweepPass(this.#database, pass, batch)
    }
    return total
  }
}
