import type { NewMemo, NewWait, StoredOutcome, WaitAnswer } from '../../src/model/journal.ts'

/** A signal, and after how many calls of the journal it comes. */
export interface MemorySignal {
  readonly name: string
  readonly after: number
}

/**
 * Waits whose history is in memory, with what ends them. A claim that has ended is followed by another once something has
 * come for it: signals in the order in which they came, else the least time; and a wait that has neither is told so much.
 */
export class MemoryWaits {
  readonly #open = new Map<string, NewWait>()
  readonly #coming: (MemorySignal & { readonly payload: string })[]
  readonly #arrived: { readonly name: string; readonly payload: string }[] = []
  #calls = 0

  constructor(signals: readonly MemorySignal[] = []) {
    this.#coming = signals.map((signal, index) => ({ ...signal, payload: `"signal ${index + 1}"` }))
  }

  /** Another call of the journal. Answers whether a signal has come with it. */
  pass(): boolean {
    this.#calls += 1
    const before = this.#arrived.length
    for (const signal of this.#coming.filter(({ after }) => after === this.#calls)) this.#arrived.push(signal)
    return this.#arrived.length > before
  }

  async open(wait: NewWait, keep: (memo: NewMemo) => Promise<StoredOutcome>): Promise<WaitAnswer> {
    const isAskedAgain = this.#open.has(wait.key)
    // A time of a millisecond is over when the claim asks again.
    const isOver = wait.delayMs === 0 || (isAskedAgain && wait.delayMs === 1)
    this.#open.set(wait.key, { ...wait, ordinal: this.#open.get(wait.key)?.ordinal ?? wait.ordinal })
    const memo = this.#received(wait) ?? (isOver ? over(wait, wait.seq) : undefined)
    if (!memo) return { kind: 'open', waitMs: wait.delayMs === undefined ? undefined : wait.delayMs }
    this.#open.delete(wait.key)
    return { kind: 'ended', outcome: await keep(memo) }
  }

  end(lastSeq: number): readonly NewMemo[] {
    let seq = lastSeq
    const ends: NewMemo[] = []
    for (const wait of this.#inOrder) {
      const memo = this.#received(wait)
      if (memo) ends.push({ ...memo, seq: (seq += 1) })
    }
    const rest = this.#inOrder.filter(({ key }) => !ends.some((memo) => memo.key === key))
    const first = rest.toSorted((a, b) => (a.delayMs ?? Infinity) - (b.delayMs ?? Infinity))[0]
    if (ends.length === 0 && first) ends.push(first.delayMs === undefined ? told(first, seq + 1) : over(first, seq + 1))
    for (const { key } of ends) this.#open.delete(key)
    return ends
  }

  get #inOrder(): readonly NewWait[] {
    return [...this.#open.values()].toSorted((a, b) => a.ordinal - b.ordinal)
  }

  /** Of several waits of one name the one called first gets the signal. */
  #received({ key, kind, name, seq }: NewWait): NewMemo | undefined {
    const index = this.#arrived.findIndex((signal) => kind === 'signal' && signal.name === name)
    const wait = this.#inOrder.find((each) => each.kind === 'signal' && each.name === name)
    if (index < 0 || wait?.key !== key) return undefined
    const [signal] = this.#arrived.splice(index, 1)
    return memoOf(wait, seq, 'answer', signal?.payload)
  }
}

function over(wait: NewWait, seq: number): NewMemo {
  return memoOf(wait, seq, wait.kind === 'sleep' ? 'answer' : 'timeout')
}

function told(wait: NewWait, seq: number): NewMemo {
  return memoOf(wait, seq, 'answer', '"signal at last"')
}

function memoOf({ key, ordinal }: NewWait, seq: number, kind: NewMemo['kind'], value = 'null'): NewMemo {
  return { key, kind, value, types: null, seq, ordinal, tries: 1, durationMs: 0, args: undefined }
}
