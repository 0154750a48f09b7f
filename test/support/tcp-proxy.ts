import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Address } from './database.ts'
import { Link, type Cut, type Rules } from './proxy-link.ts'

export interface CutOptions {
  /**
   * `before`: the server never gets the message. `after`: it does, and the cut comes when it has answered, so that it
   * has done what it was asked and nobody hears of it.
   */
  readonly when: Cut['when']
  /** How many such connections are cut. Default 1. */
  readonly times?: number
  /** Called at the instant of each cut, before anybody can notice it. */
  readonly act?: () => void
}

type Mood = 'serves' | 'refuses' | 'ignores'

/**
 * Stands between a client and its Postgres, knows where one message ends and the next begins, and does to the
 * connections what networks do. `mend` ends what is done to new connections and to messages; a link that was cut or
 * darkened stays so.
 */
export class Proxy implements Address, Rules {
  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #cuts: Cut[] = []
  #target: URL
  #mood: Mood = 'serves'
  #delayMs = 0
  #dropsNotifications = false

  constructor({ connectionString }: Address) {
    this.#target = new URL(connectionString)
    this.#server = createServer((client) => this.#link(client))
  }

  get connectionString(): string {
    const url = new URL(this.#target)
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen')
    url.hostname = '127.0.0.1'
    url.port = String(address.port)
    return url.href
  }

  get delayMs(): number {
    return this.#delayMs
  }

  get dropsNotifications(): boolean {
    return this.#dropsNotifications
  }

  /** How many connections it carries just now. */
  get size(): number {
    return this.#links.size
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve))
  }

  /**
   * Cuts the next connection on which the client sends such a message. The pattern sees the message's kind, a letter of
   * Postgres' protocol, and its bytes: `/^Qcommit/`, `/^B.*keep_steps/s`. Resolves when the first cut was made.
   */
  cut(pattern: RegExp, { when, times = 1, act }: CutOptions): Promise<void> {
    return new Promise((resolve) => {
      const onCut = (): void => {
        act?.()
        resolve()
      }
      this.#cuts.push({ pattern, when, onCut, left: times })
    })
  }

  /** Ends connections now, the oldest first. Answers how many. */
  cutNow(most = Infinity): number {
    const chosen = [...this.#links].slice(0, most)
    for (const link of chosen) link.end()
    return chosen.length
  }

  /**
   * `existing`: what is sent on the present links vanishes for good, and new ones work, as when a firewall forgets.
   * `all`: new ones are accepted and never answered either, as by a machine that hangs.
   */
  blackHole(which: 'existing' | 'all'): void {
    for (const link of this.#links) link.darken()
    if (which === 'all') this.#mood = 'ignores'
  }

  /** New connections are closed at once, as by a machine without a server. */
  refuse(): void {
    this.#mood = 'refuses'
  }

  /** What is sent on any link arrives so much later, each way. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** No NOTIFY reaches a client any more. */
  dropNotifications(): void {
    this.#dropsNotifications = true
  }

  /** New links go to another server, as after a fail-over. */
  retarget({ connectionString }: Address): void {
    this.#target = new URL(connectionString)
  }

  mend(): void {
    this.#cuts.length = 0
    this.#mood = 'serves'
    this.#delayMs = 0
    this.#dropsNotifications = false
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.end()
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  takeCut(message: string): Cut | undefined {
    const cut = this.#cuts.find(({ pattern }) => pattern.test(message))
    if (cut && (cut.left -= 1) === 0) this.#cuts.splice(this.#cuts.indexOf(cut), 1)
    return cut
  }

  returnCut(cut: Cut): void {
    cut.left += 1
    if (!this.#cuts.includes(cut)) this.#cuts.push(cut)
  }

  #link(client: Socket): void {
    if (this.#mood === 'refuses') return void client.on('error', () => undefined).resetAndDestroy()
    const server =
      this.#mood === 'ignores'
        ? undefined
        : connect({ host: this.#target.hostname, port: Number(this.#target.port || 5432) })
    const link = new Link(client, server, this)
    this.#links.add(link)
    link.ended.finally(() => this.#links.delete(link)).catch(() => undefined)
  }
}
