/** Counts the points at which a run's process may die, from its start on and over all its claims, and says at which it does. */
export class CrashFuse {
  readonly #at: number | undefined
  #where: string | undefined
  #count = 0

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

  /** True: here. */
  pass(where: string): boolean {
    this.#count += 1
    if (this.#count !== this.#at) return false
    this.#where = where
    return true
  }
}
