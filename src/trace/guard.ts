import type { Logger } from '../model/logger.ts'
import { boundLogger } from './bound-logger.ts'

/**
 * Tracing can never change what a run does: parts of a user's telemetry that throw (a span processor, a sampler, a
 * context manager) are told of once, and otherwise as if they had done nothing.
 */
export class Guard {
  readonly #log: Logger
  #isToldOff = false

  constructor(log: Logger) {
    this.#log = boundLogger(log, {})
  }

  /** What `work` answers; `otherwise`, if it throws. */
  try<T>(work: () => T, otherwise: T): T {
    try {
      return work()
    } catch (error) {
      this.#tell(error)
      return otherwise
    }
  }

  /** Runs `body` once, within whatever `enter` makes of it, and answers or throws what it does. */
  within<T>(enter: (body: () => void) => void, body: () => T): T {
    let state: 'before' | 'answered' | 'threw' = 'before'
    let answer: T | undefined
    let thrown: unknown
    const once = (): void => {
      if (state !== 'before') return
      try {
        answer = body()
        state = 'answered'
      } catch (error) {
        thrown = error
        state = 'threw'
      }
    }
    try {
      enter(once)
    } catch (error) {
      this.#tell(error)
    }
    once()
    if ((state as string) === 'threw') throw thrown
    return answer as T
  }

  #tell(error: unknown): void {
    if (this.#isToldOff) return
    this.#isToldOff = true
    this.#log.warn({ error }, 'Telemetry threw. Runs are not affected; further errors of its are not told.')
  }
}
