/**
 * Counts the points at which a process may die, from a run's start on and over all claims of its family, and says at which
 * it does. A death leaves behind what was sent to the database and what bodies have done; two points between which none of
 * that has changed are one.
 */
export class CrashFuse {
  readonly #at: number | undefined
  #where: string | undefined
  #count = 0
  #isChanged = true

  /** `at`: at which of them, from 1; undefined: at none. */
  constructor(at?: number) {
    this.#at = at
  }

  /** Where it died; undefined: it did not. */
  get where(): string | undefined {
    return this.#where
  }

  get count(): number {
    return this.#count
  }

  /** A death from now on leaves something else behind than one before. */
  changed(): void {
    this.#isChanged = true
  }

  /** True: here. */
  pass(where: string): boolean {
    if (!this.#isChanged) return false
    this.#isChanged = false
    this.#count += 1
    if (this.#count !== this.#at) return false
    this.#where = where
    return true
  }
}
