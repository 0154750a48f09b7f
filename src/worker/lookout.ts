import type { Clock, Timer } from '../model/clock.ts'

/**
 * Looks when it is asked to, and again when the last look said so. What asks while a look is under way is answered by one
 * more look after it.
 */
export class Lookout {
  readonly #clock: Clock
  readonly #lookOnce: () => Promise<number>
  #isStopped = true
  #isWanted = false
  #looking: Promise<void> | undefined
  #timer: Timer | undefined

  /** `lookOnce` answers in how many milliseconds to look again, and never rejects. */
  constructor(clock: Clock, lookOnce: () => Promise<number>) {
    this.#clock = clock
    this.#lookOnce = lookOnce
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Resolves when it has looked for the first time. */
  async start(): Promise<void> {
    this.#isStopped = false
    this.look()
    await this.#looking
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#looking
  }

  look(): void {
    if (this.#isStopped) return
    this.#isWanted = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
      if (this.#isWanted) this.look()
    })
  }

  /** A look is about to be had: what asked for it until now is answered by it. */
  begin(): void {
    this.#isWanted = false
  }

  async #look(): Promise<void> {
    this.#timer?.cancel()
    this.begin()
    const waitMs = await this.#lookOnce()
    if (!this.#isStopped) this.#timer = this.#clock.after(Math.max(1, waitMs), () => this.look())
  }
}
