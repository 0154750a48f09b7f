import type { Timer } from '../model/clock.ts'
import { LeaseLostError } from '../model/errors.ts'
import type { NewWait, StoredOutcome } from '../model/journal.ts'
import type { StartRow } from '../model/start-item.ts'
import { storeError } from '../model/stored-error.ts'
import type { Calls } from './calls.ts'
import type { Place } from './deliveries.ts'
import type { Call } from './ledger.ts'
import type { Caller } from './scope.ts'
import { handOut } from './step-call.ts'

/** What is asked of the journal, but for the call it is asked for. */
export type Ask = Omit<NewWait, 'key' | 'ordinal' | 'seq'>

/** A child that could not be started as asked. */
export type Refuse = (row: StartRow) => Error

/** One wait of a claim, from its opening to its end or the claim's. */
export class OpenWait {
  asked: Ask | undefined
  readonly #calls: Calls
  readonly #call: Call
  readonly #caller: Caller
  readonly #hand: (outcome: StoredOutcome) => void
  readonly #refuse: Refuse | undefined
  #timer: Timer | undefined
  #isAsking = false
  /** Word has come while it was asking, perhaps too late for the answer. */
  #isHeard = false

  constructor(calls: Calls, call: Call, caller: Caller, hand: (outcome: StoredOutcome) => void, refuse?: Refuse) {
    this.#calls = calls
    this.#call = call
    this.#caller = caller
    this.#hand = hand
    this.#refuse = refuse
  }

  /** A signal may end it, or a child's end, or a person's answer. */
  get isNamed(): boolean {
    return this.asked?.kind !== 'sleep'
  }

  close(): void {
    this.#timer?.cancel()
  }

  /** Answers whether it goes on. */
  async ask(askAgain: () => void): Promise<boolean> {
    const { clock, journal, scope } = this.#calls.options
    this.#isHeard = this.#isAsking
    if (this.#isAsking || !this.asked || !scope.isOpen) return this.#isAsking
    this.#isAsking = true
    this.#timer?.cancel()
    this.#caller.comeBack()
    const place = this.#calls.deliveries.make()
    try {
      const { key, ordinal } = this.#call
      const answer = await journal.open({ ...this.asked, key, ordinal, seq: place.seq })
      if (answer.kind === 'open') {
        place.withdraw()
        this.#isAsking = false
        const waitMs = this.#isHeard ? 0 : answer.waitMs
        if (waitMs !== undefined && !scope.isOver) this.#timer = clock.after(Math.max(1, waitMs), askAgain, true)
        this.#caller.wait({ wakeAt: undefined, tried: undefined })
        return true
      }
      if (answer.kind === 'ended') place.hand(() => this.#hand(answer.outcome))
      else this.fail(this.#refuse?.(answer.row), place)
    } catch (error) {
      this.fail(error, place)
    }
    return false
  }

  /** It could not be opened. Like a step's failure it is kept once the handler goes past it. */
  fail(thrown: unknown, given?: Place): void {
    const { definition, onLost, scope } = this.#calls.options
    if (thrown instanceof LeaseLostError) {
      given?.withdraw()
      return onLost(thrown)
    }
    if (!scope.isOpen) return given?.withdraw()
    const place = given ?? this.#calls.deliveries.make()
    const error = storeError(thrown, { nonRetryable: definition.retry.nonRetryable })
    const { key, ordinal } = this.#call
    const stored: StoredOutcome = { kind: 'failure', value: JSON.stringify(error), types: null }
    const failure = this.#calls.failures.add(
      { ...stored, key, ordinal, seq: place.seq, tries: 1, durationMs: 0, args: undefined },
      error,
    )
    place.hand(() => {
      failure.isHanded = true
      handOut(stored, this.#calls.options, this.#caller)
    })
  }
}
