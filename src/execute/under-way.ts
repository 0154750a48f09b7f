/** The bodies that are running, or whose answer is being kept. */
export class UnderWay {
  #count = 0
  readonly #waiting: (() => void)[] = []

  get count(): number {
    return this.#count
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1
    try {
      return await work()
    } finally {
      this.#count -= 1
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** Resolves when there is none. */
  async none(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => void this.#waiting.push(resolve))
  }
}
