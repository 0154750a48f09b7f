import type { Memo } from '../model/journal.ts'

/**
 * Whether a claim goes the way that is on record. This is the one place that judges it, by what can be seen from outside:
 *
 * 1. A step is kept anew while a memo of an earlier call was not asked for.
 * 2. Memos are asked for in another order than they were made.
 * 3. A claim has ended its run as done, and a memo was not asked for.
 */
export class ReplayWatch {
  /** As the journal hands them out, with a look at which are. */
  readonly memos: readonly Memo[]
  readonly #byKey: ReadonlyMap<string, Memo>
  readonly #unread: Map<string, Memo>
  readonly #occurrences = new Map<string, number>()
  #lastOrdinal = 0
  #isScoped = false
  #strayed: string | undefined

  constructor(memos: readonly Memo[]) {
    this.#byKey = new Map(memos.map((memo) => [memo.key, memo]))
    this.#unread = new Map(this.#byKey)
    const read = (key: string): void => void this.#unread.delete(key)
    this.memos = memos.map((memo) => ({
      ...memo,
      get value() {
        read(memo.key)
        return memo.value
      },
    }))
  }

  /** The step at which it left the way; undefined: it did not. */
  get strayed(): string | undefined {
    return this.#strayed
  }

  /** A call on `run` that names its step. */
  asked(name: string): void {
    if (this.#isScoped) return
    const occurrence = (this.#occurrences.get(name) ?? 0) + 1
    this.#occurrences.set(name, occurrence)
    const key = occurrence === 1 ? name : `${name}#${occurrence}`
    const memo = this.#byKey.get(key)
    if (!memo) return
    this.#unread.delete(key)
    if (memo.ordinal < this.#lastOrdinal) this.#strayed ??= key
    this.#lastOrdinal = memo.ordinal
  }

  /** From now on names say less than keys do: memos count as asked for once they are handed out. */
  scoped(): void {
    this.#isScoped = true
  }

  /** An outcome is kept that no memo has. */
  kept({ ordinal }: Pick<Memo, 'ordinal'>): void {
    const missed = [...this.#unread.values()].find((memo) => memo.ordinal <= ordinal)
    if (missed) this.#strayed ??= missed.key
  }

  /** The run is done. */
  ended(): void {
    const [missed] = this.#unread.keys()
    this.#strayed ??= missed
  }
}
