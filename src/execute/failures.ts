import type { Journal, NewMemo } from '../model/journal.ts'
import type { TriedStep } from '../model/outcome.ts'
import type { StoredError } from '../model/stored-error.ts'

export interface Failure {
  readonly memo: NewMemo
  readonly error: StoredError
  /** The handler has met it. */
  isHanded: boolean
  keeping: Promise<unknown> | undefined
}

/**
 * The steps of a claim that failed and are not kept. A failure that ends the attempt leaves nothing but its last error
 * and tries, and the step runs again. One the handler went past, by a further call, is kept before that call's body
 * begins: otherwise a crash in the body would let the next claim take another branch.
 */
export class Failures {
  readonly #journal: Journal
  readonly #open = new Set<Failure>()
  readonly #held = new Set<Promise<unknown>>()

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Those the handler has met and that are not durable yet. */
  get passed(): readonly NewMemo[] {
    return [...this.#open].filter((failure) => failure.isHanded).map((failure) => failure.memo)
  }

  get tried(): readonly TriedStep[] {
    return [...this.#open].map(({ memo: { key, tries }, error }) => ({ key, tries, error, retryMs: undefined }))
  }

  add(memo: NewMemo, error: StoredError): Failure {
    const failure: Failure = { memo, error, isHanded: false, keeping: undefined }
    this.#open.add(failure)
    return failure
  }

  /** Nothing that is called from now on begins before this is kept. */
  hold(keeping: Promise<unknown>): void {
    this.#held.add(keeping)
    const release = (): void => void this.#held.delete(keeping)
    keeping.then(release, release)
  }

  /** Resolves when every failure handed out so far is durable, and what is held for; undefined if there is none. */
  keepPassed(): Promise<unknown> | undefined {
    if (this.#open.size === 0 && this.#held.size === 0) return undefined
    const keeping = [...this.#open].flatMap((failure) => {
      if (failure.isHanded) failure.keeping ??= this.#journal.keep(failure.memo).then(() => this.#open.delete(failure))
      return failure.keeping ?? []
    })
    const all = [...keeping, ...this.#held]
    return all.length === 0 ? undefined : Promise.all(all)
  }
}
