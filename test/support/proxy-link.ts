import type { Socket } from 'node:net'
import { Messages } from './proxy-messages.ts'

/** A cut that waits for its message. */
export interface Cut {
  readonly pattern: RegExp
  readonly when: 'before' | 'after'
  readonly onCut: () => void
  left: number
}

/** What a link asks of its proxy at each message. */
export interface Rules {
  takeCut(message: string): Cut | undefined
  /** The link ended by itself before the cut could be made. */
  returnCut(cut: Cut): void
  readonly delayMs: number
  readonly dropsNotifications: boolean
}

/** One client's connection, and ours to the server; none where the server is to seem dead. */
export class Link {
  readonly ended: Promise<void>
  readonly #client: Socket
  readonly #server: Socket | undefined
  readonly #rules: Rules
  /** The cut that comes with the server's answer. */
  #pending: Cut | undefined
  #isDark: boolean

  constructor(client: Socket, server: Socket | undefined, rules: Rules) {
    this.#client = client
    this.#server = server
    this.#rules = rules
    this.#isDark = server === undefined
    this.ended = new Promise((resolve) => void client.once('close', () => resolve()))
    this.#carry(client, server, false, (message) => this.#isToServer(message))
    if (server) this.#carry(server, client, true, (message) => this.#isToClient(message))
  }

  /** Both sides stay connected, and nothing passes any more, not even the other side's end. */
  darken(): void {
    this.#isDark = true
  }

  end(): void {
    this.#client.destroy()
    this.#server?.destroy()
  }

  #carry(from: Socket, to: Socket | undefined, isLettered: boolean, isPassed: (message: Buffer) => boolean): void {
    const messages = new Messages(isLettered)
    const line = new Line((message) => {
      if (!this.#isDark) to?.write(message)
    })
    from.setNoDelay(true)
    from.on('error', () => undefined)
    from.on('close', () => this.#close(to))
    from.on('data', (chunk: Buffer) => {
      if (this.#isDark) return
      for (const message of messages.take(chunk)) {
        if (isPassed(message)) line.put(message, this.#rules.delayMs)
        if (from.destroyed) return
      }
    })
  }

  #isToServer(message: Buffer): boolean {
    // The letter and the text, without the length between them.
    const cut = this.#rules.takeCut(message.toString('latin1', 0, 1) + message.toString('latin1', 5))
    if (cut?.when === 'before') {
      this.#make(cut)
      return false
    }
    this.#pending ??= cut
    return true
  }

  #isToClient(message: Buffer): boolean {
    const letter = String.fromCharCode(message[0] ?? 0)
    if (!this.#pending) return letter !== 'A' || !this.#rules.dropsNotifications
    // Ready for the next query: only now what was asked has been done for sure, its commit too.
    if (letter === 'Z') this.#make(this.#pending)
    return false
  }

  #make(cut: Cut): void {
    this.#pending = undefined
    cut.onCut()
    this.end()
  }

  #close(other: Socket | undefined): void {
    if (this.#pending) this.#rules.returnCut(this.#pending)
    this.#pending = undefined
    if (!this.#isDark) other?.destroy()
  }
}

/** Hands on what it gets in its order, each after its delay. One timer at a time: several may go off in another order. */
class Line {
  readonly #write: (message: Buffer) => void
  readonly #waiting: { readonly message: Buffer; readonly dueAt: number }[] = []

  constructor(write: (message: Buffer) => void) {
    this.#write = write
  }

  put(message: Buffer, delayMs: number): void {
    if (delayMs === 0 && this.#waiting.length === 0) return this.#write(message)
    this.#waiting.push({ message, dueAt: performance.now() + delayMs })
    if (this.#waiting.length === 1) this.#arm()
  }

  #arm(): void {
    const [next] = this.#waiting
    if (!next) return
    setTimeout(() => {
      this.#write(next.message)
      this.#waiting.shift()
      this.#arm()
    }, next.dueAt - performance.now())
  }
}
