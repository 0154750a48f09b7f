import type { Encoded } from '../../src/model/codec.ts'
import type { Journal, NewMemo, NewWait, StoredOutcome, WaitAnswer } from '../../src/model/journal.ts'
import type { Queryable } from '../../src/model/run.ts'
import { turn } from './turn.ts'

/**
 * When a process dies: as the memo of that number in its claim, from 1, is sent to be kept or has become durable; or
 * after so many turns of the event loop, whatever is under way.
 */
export type Death = { readonly memo: number; readonly when: 'before' | 'after' } | { readonly turns: number }

export interface DyingJournal extends Journal {
  isDead(): boolean
  /** Resolves with undefined when the process has died. */
  readonly died: Promise<undefined>
}

class Died extends Error {}

/** The journal of a process that dies: from then on nothing reaches the journal, and no answer comes back. */
export function dying(journal: Journal, death: Death | undefined): DyingJournal {
  return new Dying(journal, death)
}

class Dying implements DyingJournal {
  readonly memos: Journal['memos']
  readonly tries: Journal['tries']
  readonly died: Promise<undefined>
  readonly #journal: Journal
  readonly #death: Death | undefined
  #count = 0
  #isDead = false
  #onDeath: () => void = () => undefined

  constructor(journal: Journal, death: Death | undefined) {
    this.memos = journal.memos
    this.tries = journal.tries
    this.#journal = journal
    this.#death = death
    this.died = new Promise((resolve) => void (this.#onDeath = () => resolve(undefined)))
    if (death && 'turns' in death) void this.#dieAfter(death.turns)
  }

  isDead(): boolean {
    return this.#isDead
  }

  progress(value: Encoded): void {
    this.#journal.progress(value)
  }

  keep(memo: NewMemo): Promise<StoredOutcome> {
    return this.#unlessDead(async (number) => {
      if (this.#isDue('before', number)) throw new Died()
      return await this.#journal.keep(memo)
    })
  }

  open(wait: NewWait): Promise<WaitAnswer> {
    return this.#unlessDead(async (number) => {
      if (this.#isDue('before', number)) throw new Died()
      return await this.#journal.open(wait)
    })
  }

  transact(body: (tx: Queryable) => Promise<NewMemo>): Promise<StoredOutcome> {
    return this.#unlessDead((number) =>
      this.#journal.transact(async (tx) => {
        // The sessions of a process that dies are rolled back, however far their bodies are.
        const memo = await Promise.race([body(tx), this.died])
        if (memo === undefined || this.#isDue('before', number)) throw new Died()
        return memo
      }),
    )
  }

  async #unlessDead<T>(work: (number: number) => Promise<T>): Promise<T> {
    if (this.isDead()) return await never()
    const number = (this.#count += 1)
    try {
      const answer = await work(number)
      if (this.#isDue('after', number)) this.#die()
      return this.isDead() ? await never() : answer
    } catch (error) {
      if (error instanceof Died) this.#die()
      if (this.isDead()) return await never()
      throw error
    }
  }

  #isDue(when: 'before' | 'after', number: number): boolean {
    const death = this.#death
    return death !== undefined && 'memo' in death && number === death.memo && when === death.when
  }

  async #dieAfter(turns: number): Promise<void> {
    for (let left = turns; left > 0; left -= 1) await turn()
    this.#die()
  }

  #die(): void {
    this.#isDead = true
    this.#onDeath()
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}
