import { ArgumentError, StepLimitError } from '../model/errors.ts'
import type { Memo, PendingTry } from '../model/journal.ts'
import { unstorable } from '../model/storable.ts'

/** One call on `run` that has a durable outcome. */
export interface Call {
  readonly key: string
  readonly ordinal: number
  readonly memo: Memo | undefined
  readonly pendingTry: PendingTry | undefined
}

const longestName = 200

/** Gives calls their keys and finds what was kept under them. The n-th call of a name gets `name#n` from n = 2 on. */
export class Ledger {
  readonly #memos: ReadonlyMap<string, Memo>
  readonly #tries: ReadonlyMap<string, PendingTry>
  readonly #occurrences = new Map<string, number>()
  readonly #maxSteps: number
  readonly lastSeq: number
  #calls = 0
  #recalled = 0

  constructor(memos: readonly Memo[], tries: readonly PendingTry[], maxSteps: number) {
    this.#memos = byKey(memos)
    this.#tries = byKey(tries)
    this.#maxSteps = maxSteps
    this.lastSeq = memos.at(-1)?.seq ?? 0
  }

  get recalled(): number {
    return this.#recalled
  }

  get isHalfFull(): boolean {
    return this.#calls === Math.ceil(this.#maxSteps / 2) && this.#maxSteps > 1
  }

  /** Throws StepLimitError past `maxSteps`. */
  open(name: string): Call {
    if (this.#calls >= this.#maxSteps) {
      throw new StepLimitError(`The run has ${this.#maxSteps} steps, as many as it may.`, {
        field: 'maxSteps',
        remedy: 'Raise maxSteps, or split the work into runs of its own.',
      })
    }
    this.#calls += 1
    const occurrence = (this.#occurrences.get(name) ?? 0) + 1
    this.#occurrences.set(name, occurrence)
    const key = occurrence === 1 ? name : `${name}#${occurrence}`
    const memo = this.#memos.get(key)
    if (memo) this.#recalled += 1
    return { key, ordinal: this.#calls, memo, pendingTry: this.#tries.get(key) }
  }
}

const none = new Map<string, never>()

/** Most claims are a run's first, with nothing to look up. */
function byKey<Kept extends { readonly key: string }>(kept: readonly Kept[]): ReadonlyMap<string, Kept> {
  return kept.length === 0 ? none : new Map(kept.map((each) => [each.key, each]))
}

/** Refuses names that could be mistaken for a key's own signs, or not be stored. */
export function checkStepName(name: unknown): asserts name is string {
  const problem =
    typeof name !== 'string'
      ? `is ${name === null ? 'null' : `a ${typeof name}`}`
      : name === ''
        ? 'is empty'
        : name.length > longestName
          ? `is longer than ${longestName} characters`
          : /[#/[\]]/.test(name)
            ? 'holds one of # / [ ]'
            : unstorable(name)
  if (problem === undefined) return
  throw new ArgumentError(`The step name ${typeof name === 'string' ? JSON.stringify(name) : ''} ${problem}.`, {
    field: 'name',
    remedy: 'Give a text such as "charge card".',
  })
}
