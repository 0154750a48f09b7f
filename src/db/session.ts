import pg from 'pg'
import type { Clock, Timer } from '../model/clock.ts'
import { ClosedError } from '../model/errors.ts'
import type { Database } from './database.ts'
import { plainTypes, sessionSetup } from './database.ts'
import { requireSession } from './require-session.ts'
import { part, sever } from './sever.ts'

/**
 * One session of our own that handlers cannot use, for as long as the server can be reached: it connects again by
 * itself, and is set up anew each time. A server that does not answer it in time is gone, whatever the socket says.
 */

export interface SessionOptions {
  readonly database: Database
  readonly name: string
  readonly clock: Clock
  /** How often the server is asked whether it is there. */
  readonly pulseMs: number
  /** Runs on each new connection before it is used. */
  readonly setUp: (client: pg.Client) => Promise<void>
  readonly onNotification?: (message: string) => void
  readonly onLoss?: (error: unknown) => void
  /** The server has fallen silent. This session is lost then; others to it will be too. */
  readonly onSilence?: () => void
}

/** Between two tries to connect again: the first, and the longest, which is shorter than two tests for the dead lie apart. */
const firstWaitMs = 50
const longestWaitMs = 250
/** It is gone after so many glances without an answer. A blocked event loop takes one glance, however long it is. */
const glances = 5
const glanceMs = 1_000

export class Session {
  readonly #options: SessionOptions
  readonly #closing = new AbortController()
  #client: Promise<pg.Client>
  #isConnected = false
  #pulse: Timer | undefined

  constructor(options: SessionOptions) {
    this.#options = options
    this.#client = this.#use(Promise.reject(new ClosedError('The session was not started.')))
  }

  /** Connects; rejects if the first connection cannot be had. */
  async start(): Promise<void> {
    await this.#use(this.#connect())
    this.#beat()
  }

  /** Calls a SQL function here. It waits for a connection being made, but does not ask again when one is lost. */
  async call<Row>(fn: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.#client
    return await this.#answered(client, this.#options.database.callOn<Row>(client, fn, values))
  }

  async stop(): Promise<void> {
    this.#closing.abort()
    this.#pulse?.cancel()
    const client = await this.#client.catch(() => undefined)
    if (client) await part(this.#options.clock, client.end(), [client])
  }

  /** A failed connection is met by whoever asks next; it must not end the process before. */
  #use(client: Promise<pg.Client>): Promise<pg.Client> {
    client.catch(() => undefined)
    this.#client = client
    return client
  }

  #beat(): void {
    if (this.#closing.signal.aborted) return
    const { clock, pulseMs } = this.#options
    this.#pulse = clock.after(pulseMs, () => {
      void this.#client
        .then((client) => this.#answered(client, client.query('select')))
        .catch(() => undefined)
        .then(() => this.#beat())
    })
  }

  /** Waits for an answer, and severs the session if there is none. */
  async #answered<T>(client: pg.Client, answer: Promise<T>): Promise<T> {
    const { clock, onSilence } = this.#options
    let glance = 0
    let timer: Timer | undefined
    const look = (): void => {
      if (glance < glances) {
        glance += 1
        timer = clock.after(glanceMs, () => clock.whenIdle(look))
      } else if (glance === glances) {
        onSilence?.()
        sever(client)
      }
    }
    look()
    try {
      return await answer
    } finally {
      glance = Infinity
      timer?.cancel()
    }
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
      await this.#answered(
        client,
        requireSession(client, database.connectionConfig)
          .then(() => client.query(sessionSetup))
          .then(() => setUp(client)),
      )
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
    const { clock, onLoss } = this.#options
    for (let wait = firstWaitMs; ; wait = Math.min(longestWaitMs, wait * 2)) {
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
