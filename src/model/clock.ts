/**
 * The only place that touches the process's clock, timers and randomness; a lint bans them elsewhere in src. What is
 * stored uses the database's clock: this one measures stretches within a process and nothing else.
 */

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Milliseconds that only ever rise; not a time of day. */
  monotonic(): number
  /** The process's time of day in milliseconds, for UUIDv7 and log lines only. */
  wallClock(): number
  /** Calls `fn` after `ms`, however large (Node's own timers overflow at 24.8 days). Keeps the process alive unless `isBackground`. */
  after(ms: number, fn: () => void, isBackground?: boolean): Timer
  sleep(ms: number, abortSignal?: AbortSignal): Promise<void>
  /** Calls `fn` once the microtask queue has drained. */
  whenIdle(fn: () => void): void
  random(): number
  randomBytes(size: number): Uint8Array
}

const longestTimer = 2 ** 31 - 1

class LongTimer implements Timer {
  #handle: NodeJS.Timeout | undefined

  constructor(ms: number, fn: () => void, isBackground: boolean) {
    const arm = (left: number): void => {
      const stretch = Math.min(Math.max(left, 0), longestTimer)
      this.#handle = setTimeout(() => (left > stretch ? arm(left - stretch) : fn()), stretch)
      if (isBackground) this.#handle.unref()
    }
    arm(ms)
  }

  cancel(): void {
    clearTimeout(this.#handle)
  }
}

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  wallClock: () => Date.now(),
  after: (ms, fn, isBackground = false) => new LongTimer(ms, fn, isBackground),
  sleep: (ms, abortSignal) =>
    new Promise((resolve) => {
      if (abortSignal?.aborted) return resolve()
      const finish = (): void => {
        timer.cancel()
        abortSignal?.removeEventListener('abort', finish)
        resolve()
      }
      const timer = new LongTimer(ms, finish, false)
      abortSignal?.addEventListener('abort', finish)
    }),
  whenIdle: (fn) => void setImmediate(fn),
  random: () => Math.random(),
  randomBytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
}
