import { checkName, readSignal } from '../define/define-signal.ts'
import { parseSignal } from '../define/parse-schema.ts'
import type { Timer } from '../model/clock.ts'
import { decode } from '../model/codec.ts'
import { parseDuration } from '../model/duration.ts'
import { ArgumentError, WaitTimeoutError } from '../model/errors.ts'
import type { StoredOutcome } from '../model/journal.ts'
import type { Duration } from '../model/policy.ts'
import type { ParkOptions, WaitOptions } from '../model/run.ts'
import type { Schema } from '../model/schema.ts'
import type { Signal } from '../model/signal.ts'
import { storableText } from '../model/storable.ts'
import type { Calls } from './calls.ts'
import type { Call } from './ledger.ts'
import type { Caller } from './scope.ts'
import { OpenWait, type Ask, type Refuse } from './open-wait.ts'

/**
 * The waits of one claim. Each is opened in the database, which alone decides when it has ended and with what. A claim that
 * comes to rest with waits open is suspended. One that is busy beside them asks again: when a wait's time is over, when it
 * is told of a signal, and once a second.
 */

const askAgainMs = 1_000
const longestReason = 8 * 1024

export class Waits {
  readonly #calls: Calls
  readonly #open = new Set<OpenWait>()
  #timer: Timer | undefined

  constructor(calls: Calls) {
    this.#calls = calls
  }

  sleep(name: string, duration: Duration): Promise<unknown> {
    return this.#calls.checked(
      name,
      () => {
        checkName(name, 'step')
        return parseDuration(duration, 'duration')
      },
      (delayMs) => this.wait(name, () => ({ kind: 'sleep', delayMs }), slept),
    )
  }

  sleepUntil(name: string, at: Date): Promise<unknown> {
    return this.#calls.checked(
      name,
      () => {
        checkName(name, 'step')
        return readInstant(at)
      },
      (until) => this.wait(name, () => ({ kind: 'sleep', until }), slept),
    )
  }

  waitFor(given: Signal | string, options: WaitOptions & { schema?: Schema } = {}): Promise<unknown> {
    return this.#calls.checked(
      'waitFor',
      () => ({ signal: readSignal(given, options.schema), delayMs: timeoutOf(options) }),
      ({ signal: { name, schema }, delayMs }) =>
        this.wait(
          name,
          () => ({ kind: 'signal', name, delayMs }),
          (outcome, caller) => this.#answer(outcome, caller, schema, name),
        ),
    )
  }

  park(name: string, options: ParkOptions<Schema>): Promise<unknown> {
    return this.#calls.checked(
      name,
      () => {
        checkName(name, 'step')
        return this.#parking(options)
      },
      () =>
        this.wait(
          name,
          () => this.#parking(options),
          (outcome, caller, call) => this.#parked(call, caller, outcome, options, 1),
        ),
    )
  }

  /** A call that waits. */
  wait(
    name: string,
    ask: (key: string) => Ask | Promise<Ask>,
    hand: (outcome: StoredOutcome, caller: Caller, call: Call) => void,
    refuse?: Refuse,
  ): Promise<unknown> {
    return this.#calls.make(name, {
      recall: (memo, call, caller) => hand(memo, caller, call),
      begin: (call, caller) => {
        const passed = this.#calls.failures.keepPassed()
        passed?.catch(() => undefined)
        const wait = new OpenWait(this.#calls, call, caller, (outcome) => hand(outcome, caller, call), refuse)
        void this.#begin(wait, () => ask(call.key), passed)
      },
    })
  }

  /** A person is asked. */
  get isParked(): boolean {
    return [...this.#open].some(({ asked }) => asked?.kind === 'park')
  }

  /** Word has come that there are signals. */
  hear(): void {
    for (const wait of this.#open) if (wait.isNamed) void this.#askOf(wait)
  }

  /** The claim is over. */
  close(): void {
    this.#timer?.cancel()
    for (const wait of this.#open) wait.close()
    this.#open.clear()
  }

  async #begin(wait: OpenWait, ask: () => Ask | Promise<Ask>, passed: Promise<unknown> | undefined): Promise<void> {
    try {
      if (passed) await passed
      wait.asked = await ask()
    } catch (error) {
      return wait.fail(error)
    }
    await this.#askOf(wait)
  }

  async #askOf(wait: OpenWait): Promise<void> {
    this.#open.add(wait)
    const isOpen = await wait.ask(() => void this.#askOf(wait))
    if (!isOpen) this.#open.delete(wait)
    else if (wait.isNamed) this.#arm()
  }

  #arm(): void {
    const { clock, scope } = this.#calls.options
    if (this.#timer || scope.isOver) return
    this.#timer = clock.after(
      askAgainMs,
      () => {
        this.#timer = undefined
        this.hear()
      },
      true,
    )
  }

  #answer(outcome: StoredOutcome, caller: Caller, schema: Schema | undefined, name: string): void {
    if (outcome.kind === 'timeout') return caller.reject(timedOut(name))
    parseSignal(schema, name, decode(outcome.value, outcome.types)).then(
      (value) => caller.resolve(value),
      (error: unknown) => caller.reject(error),
    )
  }

  #parking(options: ParkOptions<Schema>, problem?: string): Ask {
    const { reason } = options as { reason: unknown }
    if (typeof reason !== 'string' || reason === '') {
      throw new ArgumentError('run.park was given no reason.', {
        field: 'reason',
        remedy: 'Say what a person is to decide: { reason: "over 10,000 EUR", schema }.',
      })
    }
    const text = problem === undefined ? reason : `${reason} (${problem})`
    return { kind: 'park', delayMs: timeoutOf(options), reason: storableText(text, longestReason) }
  }

  /** An answer that does not fit parks the run again, as a call of its own that follows the one before. */
  #parked(call: Call, caller: Caller, outcome: StoredOutcome, options: ParkOptions<Schema>, round: number): void {
    const { deliveries, ledger } = this.#calls
    if (outcome.kind === 'timeout') return caller.reject(timedOut(call.key))
    parseSignal(options.schema, call.key, decode(outcome.value, outcome.types)).then(
      (value) => caller.resolve(value),
      (error: unknown) => {
        const again = { ...call, key: `${call.key.replace(/\[again\]\d+$/, '')}[again]${round + 1}` }
        const next = (answer: StoredOutcome): void => this.#parked(again, caller, answer, options, round + 1)
        const memo = ledger.recall(again.key)
        if (memo) return deliveries.recall(memo.seq, () => next(memo))
        const wait = new OpenWait(this.#calls, again, caller, next)
        void this.#begin(wait, () => this.#parking(options, (error as Error).message), undefined)
      },
    )
  }
}

function slept(_: StoredOutcome, caller: Caller): void {
  caller.resolve(undefined)
}

function readInstant(at: unknown): Date {
  const ms = at instanceof Date ? at.getTime() : Number.NaN
  const year = new Date(ms).getUTCFullYear()
  if (year >= 1 && year <= 9999) return new Date(ms)
  throw new ArgumentError('run.sleepUntil was given no date of the years 1 to 9999.', {
    field: 'at',
    remedy: 'Give a valid Date.',
  })
}

function timeoutOf({ timeout }: WaitOptions): number | undefined {
  return timeout === undefined ? undefined : parseDuration(timeout, 'timeout')
}

function timedOut(name: string): WaitTimeoutError {
  return new WaitTimeoutError(`"${name}" did not come in time.`)
}
