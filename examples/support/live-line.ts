const isTerminal = process.stdout.isTTY && process.env.TERM !== 'dumb'
const updateEveryMs = isTerminal ? 50 : 2000

/** On a terminal one line that is redrawn; elsewhere a plain line now and then. */
export class LiveLine {
  #text = ''
  #updatedAt = performance.now()
  #isOver = false

  update(text: string): void {
    if (this.#isOver) return
    this.#text = text
    if (performance.now() - this.#updatedAt < updateEveryMs) return
    this.#updatedAt = performance.now()
    if (isTerminal) this.#draw()
    else console.log(text)
  }

  /** Prints a line that stays, above the live one. */
  note(text: string): void {
    this.#erase()
    console.log(text)
    if (isTerminal) this.#draw()
  }

  /** Leaves the last text standing. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#erase()
    if (this.#text) console.log(this.#text)
  }

  #draw(): void {
    process.stdout.write(`\r\x1b[2K${this.#text.slice(0, (process.stdout.columns || 80) - 1)}`)
  }

  #erase(): void {
    if (isTerminal) process.stdout.write('\r\x1b[2K')
  }
}
