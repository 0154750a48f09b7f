import { buryWorkers, sweepPass, type SweepPasses } from '../db/calls.ts'
import type { Database } from '../db/database.ts'
import type { Clock, Timer } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import type { Part } from './part.ts'

const batch = 500
/** A suspect is tested again after this, which is how far apart the two tests must be. */
const secondTestMs = 510

/** How long a worker that was away lets the others come back too before it ends anything of theirs. */
const patienceMs = 5_000

export interface SweeperOptions {
  readonly database: Database
  readonly workerId: string
  readonly sweepMs: number
  /** The shortest lease of any workflow here. */
  readonly leaseMs: number
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Bounded housekeeping that any worker may do: dead workers, dead leases, missed deadlines, lost tickets.
 *
 * A worker that has not swept for a good part of a lease was cut off, or frozen, and perhaps the others with it. It
 * waits before it takes their leases for run out and them for dead, so that an outage costs no attempt where the
 * process lived; so does a new worker while others are missing since the server was started. And it judges the others
 * as of the time at which it last heard of the database: a call may wait out an outage by itself.
 */
export class Sweeper implements Part {
  readonly #database: Database
  readonly #workerId: string
  readonly #sweepMs: number
  readonly #awayMs: number
  readonly #clock: Clock
  readonly #log: Logger
  #isStopped = true
  #timer: Timer | undefined
  #sweeping: Promise<void> = Promise.resolve()
  #sweptAt = 0
  #patientUntil = 0
  /** The database's time when it last answered. */
  #heardAt: string | undefined

  constructor({ database, workerId, sweepMs, leaseMs, clock, log }: SweeperOptions) {
    this.#database = database
    this.#workerId = workerId
    this.#sweepMs = sweepMs
    this.#awayMs = sweepMs + leaseMs / 4
    this.#clock = clock
    this.#log = log
  }

  async start(): Promise<void> {
    this.#isStopped = false
    this.#sweptAt = this.#clock.monotonic()
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
      if (!this.#isPatient() && (await this.#endLost()) > 0) nextMs = Math.min(nextMs, secondTestMs)
      await this.#pass('fail_overdue')
      await this.#pass('prune_runs')
      await sweepPass(this.#database, 'reissue_tickets', batch)
      await sweepPass(this.#database, 'mend_lines', batch)
      await sweepPass(this.#database, 'mend_signals', batch)
      this.#sweptAt = this.#clock.monotonic()
    } catch (error) {
      this.#log.warn({ error }, 'A sweep failed; it is done again.')
    }
    this.#arm(nextMs)
  }

  #isPatient(): boolean {
    const now = this.#clock.monotonic()
    if (now - this.#sweptAt > this.#awayMs) this.#patientUntil = now + patienceMs
    return now < this.#patientUntil
  }

  /** Answers how many workers are suspected of being dead. */
  async #endLost(): Promise<number> {
    const isNew = this.#heardAt === undefined
    const found = await buryWorkers(this.#database, this.#workerId, this.#heardAt)
    const { dead, suspected, at } = found
    if (dead > 0) this.#log.warn({ dead }, 'Workers were found dead; their runs are taken over.')
    this.#heardAt = at
    if (isNew && found.is_missing) this.#patientUntil = this.#clock.monotonic() + patienceMs
    // The answer itself may have waited out an outage.
    if (this.#isPatient()) return suspected
    const ended = await this.#pass('end_leases', at)
    if (ended > 0) this.#log.warn({ ended }, 'Claims of lost workers were ended.')
    return suspected
  }

  async #pass<Pass extends keyof SweepPasses>(pass: Pass, ...rest: SweepPasses[Pass]): Promise<number> {
    let total = 0
    for (let count = batch; count === batch && !this.#isStopped; total += count) {
      count = await sweepPass(this.#database, pass, batch, ...rest)
    }
    return total
  }
}
