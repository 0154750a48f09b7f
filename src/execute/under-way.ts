/** The bodies that are running, or whose answer is being kept. */
export class UnderWay {
  readonly #waiting: (() => void)[] = []
  #count = 0
  #entered: string | undefined

  get count(): number {
    return this.#count
  }

  /** The key of the step whose body is on the stack just now: it has not come to its first await. */
  get entered(): string | undefined {
    return this.#entered
  }

  enter<T>(key: string, body: () => T): T {
    this.#entered = key
    try {
      return body()
    } finally {
      this.#entered = undefined
    }
  }

  begin(): void {
    this.#count += 1
  }

  end(): void {
    this.#count -= 1
    if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Resolves when there is none. */
  async none(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => void this.#waiting.push(resolve))
  }
}
