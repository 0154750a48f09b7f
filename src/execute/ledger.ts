import { StepLimitError } from '../model/errors.ts'
import type { Memo, PendingTry } from '../model/journal.ts'

/** One call on `run` that has a durable outcome. */
export interface Call {
  readonly key: string
  readonly ordinal: number
  readonly memo: Memo | undefined
  readonly pendingTry: PendingTry | undefined
}

/** Gives calls their keys and finds what was kept under them. The n-th call of a name gets `name#n` from n = 2 on. */
export class Ledger {
  readonly #memos: ReadonlyMap<string, Memo>
  readonly #tries: ReadonlyMap<string, PendingTry>
  readonly #occurrences = new Map<string, number>()
  readonly #maxSteps: number
  /** What was kept and nobody has asked for yet, by rising `seq`. */
  readonly #unread: Set<Memo>
  readonly lastSeq: number
  #calls = 0
  #recalled = 0

  constructor(memos: readonly Memo[], tries: readonly PendingTry[], maxSteps: number) {
    this.#memos = byKey(memos)
    this.#tries = byKey(tries)
    this.#unread = memos.length === 0 ? nothing : new Set(memos.filter((memo) => !isAside(memo)))
    this.#maxSteps = maxSteps
    this.lastSeq = memos.at(-1)?.seq ?? 0
  }

  get recalled(): number {
    return this.#recalled
  }

  get isHalfFull(): boolean {
    return this.#calls === Math.ceil(this.#maxSteps / 2) && this.#maxSteps > 1
  }

  /** Of what was kept and not asked for, what is next to be handed out. */
  get nextUnread(): Memo | undefined {
    return this.#unread.values().next().value
  }

  get unread(): readonly Memo[] {
    return [...this.#unread]
  }

  /** Something kept and not asked for whose call had this place, or one before it. */
  unreadUpTo(ordinal: number): Memo | undefined {
    for (const memo of this.#unread) if (memo.ordinal <= ordinal) return memo
    return undefined
  }

  /** Throws StepLimitError past `maxSteps`. */
  open(name: string): Call {
    if (this.#calls >= this.#maxSteps) {
      throw new StepLimitError(`The run has ${this.#maxSteps} steps, as many as it may.`, {
        field: 'maxSteps',
        remedy: 'Raise maxSteps, split the work into runs of its own, or go on with run.continueAs.',
      })
    }
    this.#calls += 1
    const key = this.keyOf(name)
    return { key, ordinal: this.#calls, memo: this.recall(key), pendingTry: this.#tries.get(key) }
  }

  /** Counts one more occurrence of a name. */
  keyOf(name: string): string {
    const occurrence = (this.#occurrences.get(name) ?? 0) + 1
    this.#occurrences.set(name, occurrence)
    return occurrence === 1 ? name : `${name}#${occurrence}`
  }

  /** What was kept under a key. */
  recall(key: string): Memo | undefined {
    const memo = this.#memos.get(key)
    if (memo) {
      this.#recalled += 1
      this.#unread.delete(memo)
    }
    return memo
  }
}

/** Of versions, and of what a person was asked beside the handler's own way. */
function isAside({ key }: Memo): boolean {
  return /\[(?:version|mismatch|again)\]/.test(key)
}

const none = new Map<string, never>()
const nothing = new Set<Memo>()

/** Most claims are a run's first, with nothing to look up. */
function byKey<Kept extends { readonly key: string }>(kept: readonly Kept[]): ReadonlyMap<string, Kept> {
  return kept.length === 0 ? none : new Map(kept.map((each) => [each.key, each]))
}
