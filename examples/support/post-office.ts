export interface Letter {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Stands in for a mail provider: sends what it is given once for each idempotency key, however often it is asked. */
export class PostOffice {
  readonly #sent = new Map<string, Letter>()
  #onSent: (letter: Letter) => void = () => undefined

  send(letter: Letter, idempotencyKey: string): void {
    if (this.#sent.has(idempotencyKey)) return
    this.#sent.set(idempotencyKey, letter)
    this.#onSent(letter)
  }

  get sent(): readonly Letter[] {
    return [...this.#sent.values()]
  }

  /** Subjects of the letters to somebody, the first sent first. */
  subjectsTo(to: string): string[] {
    return this.sent.filter((letter) => letter.to === to).map((letter) => letter.subject)
  }

  onSent(tell: (letter: Letter) => void): void {
    this.#onSent = tell
  }
}
