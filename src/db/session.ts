import pg from 'pg'
import type { Clock } from '../model/clock.ts'
import { ClosedError } from '../model/errors.ts'
import type { Database } from './database.ts'
import { plainTypes, sessionSetup } from './database.ts'

/**
 * One session of our own that handlers cannot use, for as long as the server can be reached: it connects again by
 * itself, and is set up anew each time.
 */

export interface SessionOptions {
  readonly database: Database
  readonly name: string
  readonly clock: Clock
  /** Between two tries to connect again. Default 1 s. */
  readonly longestWaitMs?: number
  /** Runs on each new connection before it is used. */
  readonly setUp: (client: pg.Client) => Promise<void>
  readonly onNotification?: (message: string) => void
  readonly onLoss?: (error: unknown) => void
}

const firstWaitMs = 50
const defaultLongestWaitMs = 1_000

export class Session {
  readonly #options: SessionOptions
  readonly #closing = new AbortController()
  #client: Promise<pg.Client>
  #isConnected = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#client = this.#use(Promise.reject(new ClosedError('The session was not started.')))
  }

  /** Connects; rejects if the first connection cannot be had. */
  async start(): Promise<void> {
    await this.#use(this.#connect())
  }

  /** Calls a SQL function here. It waits for a connection being made, but does not ask again when one is lost. */
  async call<Row>(fn: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.#client
    return await this.#options.database.callOn<Row>(client, fn, values)
  }

  async stop(): Promise<void> {
    this.#closing.abort()
    const client = await this.#client.catch(() => undefined)
    await client?.end().catch(() => undefined)
  }

  /** A failed connection is met by whoever asks next; it must not end the process before. */
  #use(client: Promise<pg.Client>): Promise<pg.Client> {
    client.catch(() => undefined)
    this.#client = client
    return client
  }

  async #connect(): Promise<pg.Client> {
    const { database, name, setUp, onNotification } = this.#options
    const client = new pg.Client({
      ...database.connectionConfig,
      types: plainTypes,
      application_name: name,
      connectionTimeoutMillis: 5_000,
    })
    const life = { isOver: false }
    const lose = (error?: unknown): void => {
      if (life.isOver) return
      life.isOver = true
      if (this.#isConnected) this.#lose(error)
    }
    client.on('error', lose)
    client.on('end', () => lose())
    if (onNotification) client.on('notification', ({ payload }) => onNotification(payload ?? ''))
    try {
      await client.connect()
      await client.query(sessionSetup)
      await setUp(client)
    } catch (error) {
      life.isOver = true
      await client.end().catch(() => undefined)
      throw error
    }
    this.#requireAlive(life)
    this.#isConnected = true
    return client
  }

  #requireAlive(life: { readonly isOver: boolean }): void {
    if (life.isOver) throw new ClosedError('The session was lost while it was set up.')
  }

  #lose(error: unknown): void {
    this.#isConnected = false
    if (this.#closing.signal.aborted) return
    this.#options.onLoss?.(error)
    void this.#use(this.#reconnect())
  }

  async #reconnect(): Promise<pg.Client> {
    const { clock, onLoss, longestWaitMs = defaultLongestWaitMs } = this.#options
    for (let wait = Math.min(firstWaitMs, longestWaitMs); ; wait = Math.min(longestWaitMs, wait * 2)) {
      await clock.sleep(wait, this.#closing.signal)
      if (this.#closing.signal.aborted) throw new ClosedError('The session was stopped.')
      try {
        return await this.#connect()
      } catch (error) {
        onLoss?.(error)
      }
    }
  }
}
