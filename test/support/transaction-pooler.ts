import { randomInt } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { afterEach } from 'vitest'
import type { Address } from './database.ts'
import { Messages } from './proxy-messages.ts'

/**
 * Stands between clients and their Postgres and lends each client one of a few sessions, for a transaction at a time and
 * by turns. It answers itself when a client connects, with a process id and key of its own, and hands every other
 * message on as it is: statements that a client prepared stay in the session it had then.
 */
export class TransactionPooler implements Address {
  readonly connectionString: string
  readonly #server: Server
  readonly #clients = new Set<Socket>()
  readonly #sessions: readonly ServerSession[]
  readonly #free: ServerSession[]
  readonly #waiting: ((session: ServerSession) => void)[] = []

  constructor(server: Server, target: URL, sessions: readonly ServerSession[]) {
    const url = new URL(target)
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('the pooler does not listen')
    url.hostname = '127.0.0.1'
    url.port = String(address.port)
    this.connectionString = url.href
    this.#server = server
    this.#sessions = sessions
    this.#free = [...sessions]
    server.on('connection', (socket) => this.#serve(socket))
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy()
    for (const session of this.#sessions) session.end()
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  #serve(socket: Socket): void {
    this.#clients.add(socket)
    const messages = new Messages(false)
    let isWelcome = false
    let session: Promise<ServerSession> | undefined
    /** Every such message is answered by one ReadyForQuery. */
    let expected = 0
    const giveBack = (lent: ServerSession): void => {
      lent.onMessage = () => undefined
      session = undefined
      this.#giveBack(lent)
    }
    const answer = (lent: ServerSession, message: Buffer): void => {
      socket.write(message)
      if (letterOf(message) !== 'Z') return
      expected -= 1
      const isIdle = message.toString('latin1', 5) === 'I'
      if (expected === 0 && isIdle) giveBack(lent)
    }
    const borrow = async (): Promise<ServerSession> => {
      const lent = await this.#take()
      lent.onMessage = (message) => answer(lent, message)
      return lent
    }
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#clients.delete(socket)
      // Whoever leaves in the middle of a transaction has it undone.
      void session?.then((lent) => {
        lent.onMessage = (message) => {
          if (letterOf(message) !== 'Z') return
          expected -= 1
          if (expected <= 0) giveBack(lent)
        }
        expected += 1
        lent.write(frame('Q', Buffer.from('rollback\0')))
      })
    })
    socket.on('data', (chunk: Buffer) => {
      for (const message of messages.take(chunk)) {
        const letter = letterOf(message)
        if (!isWelcome) socket.write(welcome())
        else if (letter === 'X') socket.end()
        else {
          if (letter === 'Q' || letter === 'S') expected += 1
          session ??= borrow()
          void session.then((lent) => lent.write(message))
        }
        isWelcome = true
      }
    })
  }

  #take(): Promise<ServerSession> {
    const session = this.#free.shift()
    return session ? Promise.resolve(session) : new Promise((resolve) => this.#waiting.push(resolve))
  }

  #giveBack(session: ServerSession): void {
    const next = this.#waiting.shift()
    if (next) next(session)
    else this.#free.push(session)
  }
}

/** A session of the server, opened as pg opens one and then used message by message. */
class ServerSession {
  onMessage: (message: Buffer) => void = () => undefined
  readonly #socket: Duplex

  constructor(client: pg.Client) {
    this.#socket = client.connection.stream
    const messages = new Messages(true)
    this.#socket.removeAllListeners()
    this.#socket.on('error', () => undefined)
    this.#socket.on('data', (chunk: Buffer) => {
      for (const message of messages.take(chunk)) this.onMessage(message)
    })
  }

  write(message: Buffer): void {
    this.#socket.write(message)
  }

  end(): void {
    this.#socket.destroy()
  }
}

/** What a server says to a client it lets in, with a process id that is none of the server's. */
function welcome(): Buffer {
  const settings = {
    server_version: '15.0',
    client_encoding: 'UTF8',
    standard_conforming_strings: 'on',
    TimeZone: 'UTC',
  }
  const key = Buffer.alloc(8)
  key.writeInt32BE(randomInt(2 ** 30, 2 ** 31 - 1), 0)
  key.writeInt32BE(randomInt(2 ** 31 - 1), 4)
  return Buffer.concat([
    frame('R', Buffer.alloc(4)),
    ...Object.entries(settings).map(([name, value]) => frame('S', Buffer.from(`${name}\0${value}\0`))),
    frame('K', key),
    frame('Z', Buffer.from('I')),
  ])
}

function letterOf(message: Buffer): string {
  return message.toString('latin1', 0, 1)
}

function frame(letter: string, body: Buffer): Buffer {
  const head = Buffer.from(`${letter}0000`)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const open = new Set<TransactionPooler>()

afterEach(async () => {
  await Promise.all([...open].map((pooler) => pooler.close()))
  open.clear()
})

/** A pooler with so many sessions on the server of that address, closed after the test. */
export async function startTransactionPooler({ connectionString }: Address, size: number): Promise<TransactionPooler> {
  const sessions = await Promise.all(
    Array.from({ length: size }, async () => {
      const client = new pg.Client({ connectionString })
      await client.connect()
      return new ServerSession(client)
    }),
  )
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const pooler = new TransactionPooler(server, new URL(connectionString), sessions)
  open.add(pooler)
  return pooler
}
