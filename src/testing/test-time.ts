import { promoteDue, sweepPass } from '../db/calls.ts'
import type { Database } from '../db/database.ts'
import { lookAround, moveTime, type Glance } from '../db/test-calls.ts'
import { systemClock } from '../model/clock.ts'
import { EndlessError } from '../model/errors.ts'
import type { TestClock } from './test-clock.ts'

/**
 * The time of a test's database. It moves from one instant at which something is due to the next, and only while nothing
 * runs: so each run begins at about its own time, what it plans from there is in time too, and no lease is passed over.
 */

const batch = 500
const longestPauseMs = 10

export class TestTime {
  readonly #database: Database
  readonly #clock: TestClock
  readonly #workflows: readonly string[]
  readonly #mostMoves: number
  #turn: Promise<unknown> = Promise.resolve()

  constructor(database: Database, clock: TestClock, workflows: readonly string[], mostMoves: number = 10_000) {
    this.#database = database
    this.#clock = clock
    this.#workflows = workflows
    this.#mostMoves = mostMoves
  }

  async now(): Promise<Date> {
    return new Date((await moveTime(this.#database)).atMs)
  }

  advance(ms: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#idle()
      const targetMs = (await moveTime(this.#database)).atMs + ms
      await this.#through(({ nextMs }) => (nextMs !== null && nextMs <= targetMs ? nextMs : undefined))
      await this.moveTo(targetMs)
      await this.#idle()
    })
  }

  /** Until nothing can go on now; with `skipTime` until nothing has a time at which it would. */
  runUntilIdle(skipTime: boolean): Promise<void> {
    return this.#inTurn(async () => {
      if (!skipTime) await this.#idle()
      else await this.#through(({ dueMs, nextMs }) => (dueMs === null ? undefined : (nextMs ?? undefined)))
    })
  }

  /** Moves time, never back, and does what a worker's timers and sweeps would do at that instant. */
  async moveTo(ms: number): Promise<void> {
    const { at, aheadMs } = await moveTime(this.#database, ms)
    this.#clock.aheadMs = aheadMs
    await sweepPass(this.#database, 'fail_overdue', batch)
    await sweepPass(this.#database, 'end_leases', batch, at)
    while ((await promoteDue(this.#database, batch)).promoted === batch);
  }

  async #through(next: (glance: Glance) => number | undefined): Promise<void> {
    for (let moves = 0; ; moves += 1) {
      const instant = next(await this.#idle())
      if (instant === undefined) return
      if (moves === this.#mostMoves) {
        throw new EndlessError(`Time was moved ${this.#mostMoves} times, and something was due again after each.`, {
          remedy: 'Cancel the run that plans itself again and again, or advance by a shorter time.',
        })
      }
      await this.moveTo(instant)
    }
  }

  async #idle(): Promise<Glance> {
    for (let pauseMs = 1; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
      const glance = await lookAround(this.#database, this.#workflows)
      if (!glance.isBusy) return glance
      await systemClock.sleep(pauseMs)
    }
  }

  /** One move at a time, in the order in which they were asked for. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }
}
