import type { Journal } from '../../src/model/journal.ts'

/** When a process dies: as the memo of that number in its claim, from 1, becomes durable; just before, or just after. */
export interface Death {
  readonly memo: number
  readonly when: 'before' | 'after'
}

export interface DyingJournal extends Journal {
  readonly isDead: boolean
  /** Resolves with undefined when the process has died. */
  readonly died: Promise<undefined>
}

class Died extends Error {}

/** The journal of a process that dies: from then on nothing reaches the journal, and no answer comes back. */
export function dying(journal: Journal, death: Death | undefined): DyingJournal {
  let kept = 0
  let isDead = false
  let onDeath: () => void = () => undefined
  const died = new Promise<undefined>((resolve) => void (onDeath = () => resolve(undefined)))
  const die = (): void => {
    isDead = true
    onDeath()
  }
  const isDue = (when: Death['when'], memo: number): boolean => memo === death?.memo && when === death.when
  const unlessDead = async <T>(work: (memo: number) => Promise<T>): Promise<T> => {
    if (isDead) return await never()
    const memo = (kept += 1)
    try {
      const answer = await work(memo)
      if (isDue('after', memo)) die()
      return isDead ? await never() : answer
    } catch (error) {
      if (error instanceof Died) die()
      if (isDead) return await never()
      throw error
    }
  }
  return {
    memos: journal.memos,
    tries: journal.tries,
    died,
    get isDead() {
      return isDead
    },
    progress: (value) => journal.progress(value),
    keep: (memo) =>
      unlessDead(async (number) => {
        if (isDue('before', number)) throw new Died()
        return await journal.keep(memo)
      }),
    transact: (body) =>
      unlessDead((number) =>
        journal.transact(async (tx) => {
          // The sessions of a process that dies are rolled back, however far their bodies are.
          const memo = await Promise.race([body(tx), died])
          if (memo === undefined || isDue('before', number)) throw new Died()
          return memo
        }),
      ),
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}
