import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Address } from '../support/database.ts'

/** Where a connection is cut: before the server has the statement, or after it was done and before that is known. */
export type Cut = 'before it arrives' | 'after it is done'

/** Stands between a client and the server, and cuts connections at the statements it is told. */
export class CuttingProxy {
  readonly connectionString: string
  readonly #server: Server
  readonly #sockets: Set<Socket>
  #cut: { readonly text: string; readonly where: Cut } | undefined
  #left = 0

  private constructor(server: Server, { connectionString }: Address) {
    this.#server = server
    this.#sockets = new Set()
    const url = new URL(connectionString)
    const [host, port] = [url.hostname, Number(url.port || 5432)]
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    this.connectionString = url.href
    server.on('connection', (client) => this.#carry(client, connect(port, host)))
  }

  static async open(address: Address): Promise<CuttingProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new CuttingProxy(server, address)
  }

  /** Cuts the next connections that send something with this text in it, so many times. */
  cutAt(text: string, where: Cut, times = 1): void {
    this.#cut = { text, where }
    this.#left = times
  }

  /** How many cuts are still to come. */
  get left(): number {
    return this.#left
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #carry(client: Socket, server: Socket): void {
    const both = [client, server]
    let isDone = false
    const end = (): void => {
      for (const socket of both) {
        socket.destroy()
        this.#sockets.delete(socket)
      }
    }
    for (const socket of both) {
      this.#sockets.add(socket)
      socket.on('error', end)
      socket.on('close', end)
    }
    client.on('data', (chunk) => {
      const cut = this.#left > 0 && this.#cut && chunk.includes(this.#cut.text) ? this.#cut : undefined
      if (cut) this.#left -= 1
      if (cut?.where === 'before it arrives') return end()
      isDone ||= cut !== undefined
      server.write(chunk)
    })
    // The server answers a statement of its own transaction once that has committed.
    server.on('data', (chunk) => (isDone ? end() : client.write(chunk)))
  }
}
