import type { Clock } from '../model/clock.ts'
import { ClosedError } from '../model/errors.ts'
import type { Logger } from '../model/logger.ts'
import type { TriedStep } from '../model/outcome.ts'

/**
 * The life of one claim, as its calls see it. Owns what is in flight, what waits, and what becomes of calls that come
 * after the end.
 *
 * 1. A claim that was refused (lease lost, timed out, released, cancelled) rejects every call, those in flight too.
 * 2. A claim that ended otherwise settles no call any more: the handler is dropped where it stands, so that neither a
 *    `catch` nor a `finally` of it runs.
 * 3. Between the handler's end and the claim's, steps that are under way may still be kept; nothing new begins.
 * 4. Nothing in flight and a wait open: the claim is at rest, one turn of the event loop later.
 */
export class Scope {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #onRest: (wakeMs: number | undefined) => void
  readonly #outstanding = new Set<PendingCall>()
  readonly #waiting = new Map<PendingCall, Wait>()
  #abort: AbortController | undefined
  #refusal: Error | undefined
  #isOpen = true
  #isOver = false
  #isToldOff = false

  constructor(clock: Clock, log: Logger, onRest: (wakeMs: number | undefined) => void) {
    this.#clock = clock
    this.#log = log
    this.#onRest = onRest
  }

  /** The handler runs: its calls settle, and bodies may begin. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** The claim has its outcome. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Made when first asked for: most handlers never look at it. */
  get abortSignal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#refusal) this.#abort.abort(this.#refusal)
    }
    return this.#abort.signal
  }

  get triedWaits(): readonly TriedStep[] {
    const now = this.#clock.monotonic()
    return Array.from(this.#waiting.values()).flatMap(({ tried, wakeAt = now }) =>
      tried ? [{ ...tried, retryMs: Math.max(0, wakeAt - now) }] : [],
    )
  }

  /** A promise for the call, which `begin` settles through its caller; or what calls get after the end. */
  call(name: string, begin: (caller: Caller) => void): Promise<unknown> {
    if (!this.#isOpen) return this.#late(name)
    const call = new PendingCall(this.#leave, this.#return)
    this.#outstanding.add(call)
    begin(call)
    return call.promise
  }

  readonly #leave = (call: PendingCall, wait: Wait | undefined): void => {
    this.#outstanding.delete(call)
    if (wait) this.#waiting.set(call, wait)
    else this.#waiting.delete(call)
    if (this.#waiting.size > 0) this.#checkRest()
  }

  readonly #return = (call: PendingCall): void => {
    if (this.#waiting.delete(call)) this.#outstanding.add(call)
  }

  /** Throws once nothing may begin any more, for a body that was held up. */
  requireOpen(): void {
    if (!this.#isOpen) throw this.#refusal ?? new ClosedError('The claim has ended.')
  }

  /** The handler has ended: none of its calls settles any more. */
  close(): void {
    this.#isOpen = false
    this.#outstanding.clear()
  }

  /** The claim is over. */
  end(refusal?: Error): void {
    this.#isOver = true
    this.#refusal = refusal
    if (refusal) {
      this.#abort?.abort(refusal)
      for (const call of [...this.#outstanding, ...this.#waiting.keys()]) call.refuse(refusal)
    }
    this.close()
  }

  #checkRest(): void {
    if (this.#outstanding.size > 0) return
    this.#clock.whenIdle(() => {
      if (!this.#isOpen || this.#outstanding.size > 0 || this.#waiting.size === 0) return
      const wakes = Array.from(this.#waiting.values()).flatMap(({ wakeAt }) => wakeAt ?? [])
      const now = this.#clock.monotonic()
      this.#onRest(wakes.length === 0 ? undefined : Math.max(0, Math.min(...wakes) - now))
    })
  }

  #late(name: string): Promise<unknown> {
    if (this.#refusal) {
      const refused = Promise.reject(this.#refusal)
      refused.catch(() => undefined)
      return refused
    }
    if (!this.#isToldOff) {
      this.#isToldOff = true
      this.#log.warn(
        { code: 'RAW_PROMISE', step: name },
        'A call on run came after the claim had ended: something else than run was awaited beside it.',
      )
    }
    return new Promise(() => undefined)
  }
}

class PendingCall implements Caller {
  readonly promise: Promise<unknown>
  readonly #leave: (call: PendingCall, wait: Wait | undefined) => void
  readonly #return: (call: PendingCall) => void
  #resolve!: (value: unknown) => void
  #reject!: (reason: unknown) => void

  constructor(leave: (call: PendingCall, wait: Wait | undefined) => void, comeBack: (call: PendingCall) => void) {
    this.#leave = leave
    this.#return = comeBack
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  resolve(value: unknown): void {
    this.#resolve(value)
    this.#leave(this, undefined)
  }

  reject(reason: unknown): void {
    this.refuse(reason)
    this.#leave(this, undefined)
  }

  wait(wait: Wait): void {
    this.#leave(this, wait)
  }

  comeBack(): void {
    this.#return(this)
  }

  /** A call that nobody awaits must not end the process when it fails. */
  refuse(reason: unknown): void {
    this.promise.catch(ignore)
    this.#reject(reason)
  }
}

const ignore = (): void => undefined

/** Who made a call on `run`. Exactly one of these ends its being in flight. */
export interface Caller {
  resolve(value: unknown): void
  reject(reason: unknown): void
  /** It settles in a later claim, unless it comes back before this one is at rest. */
  wait(wait: Wait): void
  /** It waited, and is in flight again. */
  comeBack(): void
}

export interface Wait {
  /** When the claim has to be woken for it, by the clock's monotonic time; undefined: the database knows. */
  readonly wakeAt: number | undefined
  /** What to put on record of it. */
  readonly tried: Omit<TriedStep, 'retryMs'> | undefined
}
