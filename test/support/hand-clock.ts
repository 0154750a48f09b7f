import { systemClock, type Clock, type Timer } from '../../src/model/clock.ts'

interface Waiting {
  readonly dueAt: number
  readonly fn: () => void
}

/** A process's clock that goes on only when told to. Until then no timer of its owner fires. */
export class HandClock implements Clock {
  #now = 0
  readonly #waiting = new Set<Waiting>()

  monotonic(): number {
    return this.#now
  }

  wallClock(): number {
    return systemClock.wallClock() + this.#now
  }

  after(ms: number, fn: () => void): Timer {
    const waiting = { dueAt: this.#now + Math.max(0, ms), fn }
    this.#waiting.add(waiting)
    return { cancel: () => void this.#waiting.delete(waiting) }
  }

  async sleep(ms: number, abortSignal?: AbortSignal): Promise<void> {
    if (ms <= 0 || abortSignal?.aborted) return
    await new Promise<void>((resolve) => {
      const timer = this.after(ms, resolve)
      abortSignal?.addEventListener('abort', () => {
        timer.cancel()
        resolve()
      })
    })
  }

  whenIdle(fn: () => void): void {
    systemClock.whenIdle(fn)
  }

  random(): number {
    return systemClock.random()
  }

  randomBytes(size: number): Uint8Array {
    return systemClock.randomBytes(size)
  }

  /** In how many milliseconds each timer is due that is set just now. */
  get pending(): readonly number[] {
    return Array.from(this.#waiting, ({ dueAt }) => dueAt - this.#now)
  }

  /** Lets `ms` go by: fires each timer at its own instant, in order, and what it sets off before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#waiting.delete(next)
      this.#now = next.dueAt
      next.fn()
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.#now = end
  }

  #next(end: number): Waiting | undefined {
    return [...this.#waiting].filter(({ dueAt }) => dueAt <= end).toSorted((a, b) => a.dueAt - b.dueAt)[0]
  }
}
