import type { NewMemo, NewWait, StoredOutcome, WaitAnswer } from '../../src/model/journal.ts'

/** Waits whose history is in memory. Each is over when its claim has ended, the one with the least time first. */
export class MemoryWaits {
  readonly #open = new Map<string, NewWait>()

  async open(wait: NewWait, keep: (memo: NewMemo) => Promise<StoredOutcome>): Promise<WaitAnswer> {
    if (wait.delayMs === 0) return { kind: 'ended', outcome: await keep(memoOf(wait, wait.seq)) }
    this.#open.set(wait.key, wait)
    return { kind: 'open', waitMs: undefined }
  }

  end(lastSeq: number): readonly NewMemo[] {
    const over = [...this.#open.values()].toSorted(
      (a, b) => (a.delayMs ?? 0) - (b.delayMs ?? 0) || a.ordinal - b.ordinal,
    )
    this.#open.clear()
    return over.map((wait, index) => memoOf(wait, lastSeq + index + 1))
  }
}

function memoOf({ key, ordinal }: NewWait, seq: number): NewMemo {
  return { key, kind: 'answer', value: 'null', types: null, seq, ordinal, tries: 1, durationMs: 0, args: undefined }
}
