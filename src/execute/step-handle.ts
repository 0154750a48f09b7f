import type { Clock } from '../model/clock.ts'
import { formatDuration } from '../model/duration.ts'
import { TimeoutError } from '../model/errors.ts'
import type { Logger } from '../model/logger.ts'
import type { Step } from '../model/run.ts'
import type { Scope } from './scope.ts'

/** What one try of a step gets. */
export class StepHandle implements Step {
  readonly key: string
  readonly try: number
  readonly #runId: string
  readonly #scope: Scope
  #own: AbortController | undefined

  constructor(key: string, runId: string, tries: number, scope: Scope) {
    this.key = key
    this.try = tries
    this.#runId = runId
    this.#scope = scope
  }

  get idempotencyKey(): string {
    // Fit for a header: printable ASCII stays as it is, anything else is escaped, and no two keys become one. A space at
    // the end would not arrive.
    const isPlain = /^[\x20-\x24\x26-\x7e]*[\x21-\x24\x26-\x7e]$/.test(this.key)
    return `${this.#runId}/${isPlain ? this.key : encodeURIComponent(this.key)}`
  }

  get abortSignal(): AbortSignal {
    return this.#own?.signal ?? this.#scope.abortSignal
  }

  /** Gives this try a signal of its own, which follows the claim's until `unlink` is called. */
  arm(): { readonly abort: (reason: unknown) => void; readonly unlink: () => void } {
    const own = new AbortController()
    const outer = this.#scope.abortSignal
    const follow = (): void => own.abort(outer.reason)
    if (outer.aborted) follow()
    outer.addEventListener('abort', follow)
    this.#own = own
    return { abort: (reason) => own.abort(reason), unlink: () => outer.removeEventListener('abort', follow) }
  }
}

/** Runs a body within its step's timeout. What a body still does after that is not waited for. */
export async function bounded<T>(
  step: StepHandle,
  timeoutMs: number,
  clock: Clock,
  log: Logger,
  body: () => T,
): Promise<Awaited<T>> {
  const { key } = step
  const { abort, unlink } = step.arm()
  let expire: (error: TimeoutError) => void = () => undefined
  const expired = new Promise<never>((_, reject) => void (expire = reject))
  const runOut = (): void => {
    const error = new TimeoutError(`Step "${key}" took longer than its timeout of ${formatDuration(timeoutMs)}.`)
    log.warn(
      { step: key, timeoutMs },
      'A step ran past its timeout. If its body ignores the signal, it is still running.',
    )
    abort(error)
    expire(error)
  }
  // In the background: the limit of a body that never ends must not keep the process of a stopped worker alive.
  const timer = clock.after(timeoutMs, runOut, true)
  try {
    return await Promise.race([body(), expired])
  } finally {
    timer.cancel()
    unlink()
  }
}
