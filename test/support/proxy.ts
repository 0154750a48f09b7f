import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach } from 'vitest'
import type { Address } from './database.ts'

/**
 * Stands between a client and its Postgres, knows where one message ends and the next begins, and cuts the connection
 * at the message a test chooses.
 */

export interface CutOptions {
  /**
   * `before`: the server never gets the message. `after`: it does, and the cut comes when it begins to answer, so that
   * it has done what it was asked and nobody hears of it.
   */
  readonly when: 'before' | 'after'
  /** How many such connections are cut. Default 1. */
  readonly times?: number
}

interface Cut {
  readonly pattern: RegExp
  readonly when: CutOptions['when']
  readonly onCut: () => void
  left: number
}

const open = new Set<Proxy>()

afterEach(async () => {
  await Promise.all([...open].map((proxy) => proxy.close()))
})

/** A proxy to the server of that address, closed after the test at the latest. */
export async function startProxy(address: Address): Promise<Proxy> {
  const proxy = new Proxy(address)
  open.add(proxy)
  await proxy.listen()
  return proxy
}

export class Proxy implements Address {
  readonly #target: URL
  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #cuts: Cut[] = []

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

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve))
  }

  /**
   * Cuts the next connection on which the client sends such a message. The pattern sees the message's kind, a letter of
   * Postgres' protocol, and its bytes: `/^Qcommit/`, `/^B.*keep_steps/s`. Resolves when the first cut was made.
   */
  cut(pattern: RegExp, { when, times = 1 }: CutOptions): Promise<void> {
    return new Promise((onCut) => void this.#cuts.push({ pattern, when, onCut, left: times }))
  }

  /** Cuts no connection any more. */
  mend(): void {
    this.#cuts.length = 0
  }

  async close(): Promise<void> {
    open.delete(this)
    for (const link of this.#links) link.end()
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  #link(client: Socket): void {
    const server = connect({ host: this.#target.hostname, port: Number(this.#target.port || 5432) })
    const link = new Link(client, server, (message) => this.#takeCut(message))
    this.#links.add(link)
    link.ended.finally(() => this.#links.delete(link)).catch(() => undefined)
  }

  #takeCut(message: string): Cut | undefined {
    const cut = this.#cuts.find(({ pattern }) => pattern.test(message))
    if (cut && (cut.left -= 1) === 0) this.#cuts.splice(this.#cuts.indexOf(cut), 1)
    return cut
  }
}

/** One client's connection, and ours to the server. */
class Link {
  readonly ended: Promise<void>
  readonly #client: Socket
  readonly #server: Socket
  readonly #takeCut: (message: string) => Cut | undefined
  #received: Buffer = Buffer.alloc(0)
  #isStarted = false
  /** The cut that comes with the server's answer. */
  #pending: Cut | undefined

  constructor(client: Socket, server: Socket, takeCut: (message: string) => Cut | undefined) {
    this.#client = client
    this.#server = server
    this.#takeCut = takeCut
    this.ended = new Promise((resolve) => void client.once('close', () => resolve()))
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => other.destroy())
    }
    client.on('data', (chunk: Buffer) => this.#forward(chunk))
    server.on('data', (chunk: Buffer) => {
      if (this.#pending) this.#make(this.#pending)
      else client.write(chunk)
    })
  }

  end(): void {
    this.#client.destroy()
    this.#server.destroy()
  }

  #forward(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    for (let message = this.#next(); message; message = this.#next()) {
      // The letter and the text, without the length between them.
      const cut = this.#takeCut(message.toString('latin1', 0, 1) + message.toString('latin1', 5))
      if (cut?.when === 'before') return this.#make(cut)
      this.#pending ??= cut
      this.#server.write(message)
    }
  }

  /** The next whole message. The first of a connection has no letter before its length. */
  #next(): Buffer | undefined {
    const lengthAt = this.#isStarted ? 1 : 0
    if (this.#received.length < lengthAt + 4) return undefined
    const end = lengthAt + this.#received.readUInt32BE(lengthAt)
    if (this.#received.length < end) return undefined
    const message = this.#received.subarray(0, end)
    this.#received = this.#received.subarray(end)
    this.#isStarted = true
    return message
  }

  #make(cut: Cut): void {
    this.end()
    cut.onCut()
  }
}
