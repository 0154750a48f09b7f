import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../model/clock.ts'
import type { Journal, NewMemo, StoredOutcome } from '../model/journal.ts'
import { Deliveries, type Sequence } from './deliveries.ts'
import { Failures } from './failures.ts'
import type { Ledger } from './ledger.ts'
import type { Scope, Side } from './scope.ts'

/** What the frames of a claim share. */
export interface FrameOptions {
  readonly journal: Journal
  readonly ledger: Ledger
  readonly sequence: Sequence
  readonly clock: Clock
  readonly scope: Scope
}

/** One try of a step's body. Most make no call, so a frame is made for the first that does. */
interface Body {
  readonly step: string
  readonly isTransaction: boolean
  readonly within: Frame
  frame: Frame | undefined
}

const running = new AsyncLocalStorage<Body>()

/**
 * Where calls on `run` are made: in the handler, or in the body of a step. A replay does not run the body of a kept
 * step, so what is called there must not count among the handler's calls. Each frame has names, an order and failures
 * of its own; the keys of a body's calls begin with its step's: `order/charge`.
 */
export class Frame {
  readonly deliveries: Deliveries
  readonly failures: Failures
  /** The key of the step whose body this is; undefined: it is the handler. */
  readonly step: string | undefined
  readonly isInTransaction: boolean
  readonly #options: FrameOptions
  readonly #handler: Frame
  readonly #occurrences = new Map<string, number>()
  #ordinal = 0

  constructor(options: FrameOptions, body?: Body) {
    const { clock, sequence, journal } = options
    this.#options = options
    this.#handler = body ? body.within.#handler : this
    this.step = body?.step
    this.isInTransaction = body !== undefined && (body.isTransaction || body.within.isInTransaction)
    this.deliveries = new Deliveries(clock, sequence, this)
    this.failures = new Failures(async (memo) => this.remember(memo, await journal.keep(memo)))
  }

  get side(): Side {
    return this.step === undefined ? 'handler' : 'body'
  }

  /** No call made here settles any more. */
  get isEnded(): boolean {
    return this.#options.scope.isEnded(this.side)
  }

  /** The frame of the code that is running: this handler's, unless it runs in one of its bodies. */
  current(): Frame {
    const body = running.getStore()
    if (body === undefined || body.within.#handler !== this) return this
    return (body.frame ??= new Frame(this.#options, body))
  }

  /** Runs one try of a step's body in a frame of its own. */
  enter<T>(step: string, isTransaction: boolean, body: () => T): T {
    return running.run({ step, isTransaction, within: this, frame: undefined }, body)
  }

  /** The key of a call made here, and its place among them. The n-th call of a name gets `name#n` from n = 2 on. */
  nextCall(name: string): { readonly key: string; readonly ordinal: number } {
    const occurrence = (this.#occurrences.get(name) ?? 0) + 1
    this.#occurrences.set(name, occurrence)
    this.#ordinal += 1
    const own = occurrence === 1 ? name : `${name}#${occurrence}`
    return { key: this.step === undefined ? own : `${this.step}/${own}`, ordinal: this.#ordinal }
  }

  /** A body that is tried again in the same claim calls again for what it kept before. */
  remember({ key, seq }: Pick<NewMemo, 'key' | 'seq'>, stored: StoredOutcome): void {
    if (this.step !== undefined) this.#options.ledger.remember({ ...stored, key, seq })
  }
}
