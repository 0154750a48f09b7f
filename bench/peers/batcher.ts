/**
 * Group commit in its smallest form: what arrives while two flushes are in flight leaves with the next one. No timer,
 * so a lone item waits for nobody.
 */
interface Entry<T> {
  readonly item: T
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

const maxItems = 1000
const maxInFlight = 2

export class Batcher<T> {
  readonly #write: (items: readonly T[]) => Promise<unknown>
  readonly #queue: Entry<T>[] = []
  #inFlight = 0
  #isArmed = false

  constructor(write: (items: readonly T[]) => Promise<unknown>) {
    this.#write = write
  }

  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject })
      this.#arm()
    })
  }

  #arm(): void {
    if (this.#isArmed || this.#inFlight >= maxInFlight || this.#queue.length === 0) return
    this.#isArmed = true
    setImmediate(() => {
      this.#isArmed = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const batch = this.#queue.splice(0, maxItems)
    this.#inFlight++
    try {
      await this.#write(batch.map(({ item }) => item))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#inFlight--
    this.#arm()
  }
}
