import type pg from 'pg'
import { afterEach, expect, vi } from 'vitest'
import type { Address, TestDatabase } from './database.ts'
import { HandClient } from './variant.ts'

/** One session of an interleaving, by hand: what it does waits, or not, as the test says. */
export class Connection {
  readonly #client: pg.Client
  readonly #watcher: TestDatabase
  #pid = 0

  constructor(client: pg.Client, watcher: TestDatabase) {
    this.#client = client
    this.#watcher = watcher
  }

  get pid(): number {
    return this.#pid
  }

  async open(): Promise<this> {
    await this.#client.connect()
    const { rows } = await this.#client.query<{ pid: number }>('select pg_backend_pid() as pid')
    this.#pid = rows[0]?.pid ?? 0
    return this
  }

  async query<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]> {
    return (await this.#client.query<Row>(text, values)).rows
  }

  /** Calls a SQL function of ours; objects go as JSON, arrays of text as arrays. */
  async call<Row extends pg.QueryResultRow = Record<string, unknown>>(
    fn: string,
    ...values: unknown[]
  ): Promise<Row[]> {
    const places = values.map((_, index) => `$${index + 1}`).join(', ')
    const given = values.map((value) => (isJson(value) ? JSON.stringify(value) : value))
    return await this.query<Row>(`select * from holdfast.${fn}(${places})`, given)
  }

  /** Starts a query that must come to wait for a lock, and resolves once it does. */
  async block<T>(work: Promise<T>): Promise<{ readonly done: Promise<T> }> {
    const done = work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    await vi.waitFor(async () => {
      const { rows } = await this.#watcher.query(
        `select wait_event_type from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`,
        [this.#pid],
      )
      expect(rows).toHaveLength(1)
    }, 15_000)
    return {
      done: done.then((result) => {
        if ('error' in result) throw result.error
        return result.value
      }),
    }
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

const open: Connection[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()))
})

/** A session that ends with the test, of the test's own user or of another. */
export async function connect(database: TestDatabase, as: Address = database): Promise<Connection> {
  const connection = new Connection(new HandClient(as.connectionString), database)
  open.push(connection)
  return await connection.open()
}

function isJson(value: unknown): boolean {
  const isList = Array.isArray(value)
  return isList ? value.length === 0 || typeof value[0] === 'object' : typeof value === 'object' && value !== null
}
