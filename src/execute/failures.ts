import type { Journal, NewMemo } from '../model/journal.ts'
import type { TriedStep } from '../model/outcome.ts'
import type { StoredError } from '../model/stored-error.ts'

export interface Failure {
  readonly memo: NewMemo
  readonly error: StoredError
  isHanded: boolean
}

/**
 * The steps of a claim that failed and are not kept. A failure that ends the attempt leaves nothing but its last error
 * and tries, and the step runs again. One the handler went past is kept before anything new begins: otherwise a crash
 * in the new body would let the next claim take another branch.
 */
export class Failures {
  readonly #journal: Journal
  readonly #open = new Set<Failure>()
  #keeping: Promise<unknown> | undefined

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Those the handler has met, to be kept with the outcome that goes past them. */
  get passed(): readonly NewMemo[] {
    return this.#handed.map((failure) => failure.memo)
  }

  get tried(): readonly TriedStep[] {
    return [...this.#open].map(({ memo: { key, tries }, error }) => ({ key, tries, error, retryMs: undefined }))
  }

  add(memo: NewMemo, error: StoredError): Failure {
    const failure: Failure = { memo, error, isHanded: false }
    this.#open.add(failure)
    return failure
  }

  /** Resolves when every failure handed out so far is durable; undefined if there is none. */
  keepPassed(): Promise<unknown> | undefined {
    const passed = this.#handed
    if (passed.length > 0) {
      for (const failure of passed) this.#open.delete(failure)
      const keeping = Promise.all([this.#keeping, ...passed.map((failure) => this.#journal.keep(failure.memo))])
      const done = keeping.finally(() => {
        if (this.#keeping === done) this.#keeping = undefined
      })
      this.#keeping = done
    }
    return this.#keeping
  }

  get #handed(): readonly Failure[] {
    return [...this.#open].filter((failure) => failure.isHanded)
  }
}
