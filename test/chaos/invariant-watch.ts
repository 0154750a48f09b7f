import type pg from 'pg'
import { systemClock } from '../../src/model/clock.ts'
import { brokenInvariants } from '../support/limits.ts'

export interface BrokenInvariant {
  readonly name: string
  /** What had just been done. */
  readonly after: string
  readonly rows: readonly unknown[]
}

/** Looks whether what must hold at every commit does, after each fault and all the time in between. */
export class InvariantWatch {
  readonly broken: BrokenInvariant[] = []
  looks = 0
  readonly #pool: pg.Pool
  readonly #over = new AbortController()
  readonly #watching: Promise<void>

  constructor(pool: pg.Pool, pauseMs: number) {
    this.#pool = pool
    this.#watching = this.#watch(pauseMs)
  }

  async look(after: string): Promise<void> {
    const broken = await brokenInvariants(this.#pool)
    this.looks += 1
    for (const [name, rows] of Object.entries(broken)) this.broken.push({ name, after, rows })
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#watching
    await this.look('the end')
  }

  async #watch(pauseMs: number): Promise<void> {
    while (!this.#over.signal.aborted) {
      await systemClock.sleep(pauseMs, this.#over.signal)
      await this.look('a while')
    }
  }
}
