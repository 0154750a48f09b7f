import pg from 'pg'
import type { Clock } from '../model/clock.ts'
import { ClosedError } from '../model/errors.ts'
import type { Queryable } from '../model/run.ts'
import { readConnectionString } from './connection-string.ts'
import { explain, isConnectionLoss, isSuperseded, isUndone } from './database-errors.ts'
import { isPooled } from './require-session.ts'
import { schemaNames, type SchemaNames } from './schema-names.ts'
import { adoptPool, part, sessionsOf, sever } from './sever.ts'
import { typeParsers } from './type-parsers.ts'

/**
 * Where SQL functions are called. Its own sessions are set up once, when they connect. A pool that belongs to the
 * caller is left as it is, as are sessions that a pooler lends: there, each call is wrapped in a transaction with local
 * settings instead.
 *
 * Invariant: every call runs at `read committed` with a lock time-out, whatever the database's defaults are.
 */

export type Pool = pg.Pool

export interface DatabaseOptions {
  readonly connectionString?: string | undefined
  /** The caller's own pool. It is neither set up nor ended here. */
  readonly pool?: pg.Pool | undefined
  readonly schema?: string | undefined
  /** Sessions of our own pool. Default 10. */
  readonly size?: number | undefined
  readonly applicationName?: string | undefined
  readonly clock: Clock
}

/** How long a call may wait for a lock before its batch is split and tried again. */
const lockTimeout = '250ms'
const statementTimeout = '30s'
/** A server that has said nothing for longer than a statement may take is not there. */
const silenceMs = 35_000

const settings: Readonly<Record<string, string>> = {
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  statement_timeout: statementTimeout,
  lock_timeout: lockTimeout,
  idle_in_transaction_session_timeout: '0',
  jit: 'off',
}

export const sessionSetup: string = Object.entries(settings)
  .map(([name, value]) => `set ${name} = '${value}'`)
  .join(';')

/** A process that freezes between a call and its commit does not keep the call's locks from others for long. */
const wrapped =
  `begin isolation level read committed read write; set local lock_timeout = '${lockTimeout}'; ` +
  `set local statement_timeout = '${statementTimeout}'; set local idle_in_transaction_session_timeout = '5s'`

export class Database {
  readonly names: SchemaNames
  readonly pool: pg.Pool
  readonly isOwn: boolean
  readonly connectionConfig: pg.ClientConfig
  readonly #clock: Clock
  readonly #texts = new Map<string, string>()
  /** Those that `cut` ends: all of our own pool; of a caller's those that nobody uses and those we have borrowed. */
  readonly #sessions: ReadonlySet<pg.ClientBase>
  readonly #borrowed = new Set<pg.ClientBase>()
  /** Whether calls are wrapped; undefined until a session of our own was had. */
  #isWrapped: boolean | undefined
  #isClosed = false

  constructor(options: DatabaseOptions) {
    const { connectionString, pool, schema, size = 10, applicationName = 'holdfast', clock } = options
    this.names = schemaNames(schema)
    this.#clock = clock
    this.isOwn = pool === undefined
    // The pool keeps its password out of a copy.
    this.connectionConfig = pool
      ? { ...pool.options, password: pool.options.password }
      : readConnectionString(connectionString, applicationName)
    this.#isWrapped = pool ? true : undefined
    this.pool = pool ?? sessionPool(this.connectionConfig, size, sessionSetup, (is) => void (this.#isWrapped = is))
    this.#sessions = pool ? adoptPool(pool) : sessionsOf(this.pool)
  }

  get size(): number {
    return this.pool.options.max
  }

  /** Calls a SQL function; dead locks, serialization failures and functions that were replaced are tried again here. */
  async call<Row>(fn: string, values: readonly unknown[]): Promise<Row[]> {
    return await this.#again(async () =>
      (this.#isWrapped ?? (await this.#meet()))
        ? await this.#transact((on) => this.callOn<Row>(on, fn, values))
        : await this.callOn<Row>(this.pool, fn, values, true),
    )
  }

  /** Several calls that commit together. What `call` tries again is tried again as a whole. */
  async transaction<T>(work: (on: Queryable) => Promise<T>): Promise<T> {
    return await this.#again(() => this.#transact(work))
  }

  /** Calls a SQL function on a connection of the caller's, in whatever transaction that is in. */
  async callOn<Row>(on: Queryable, fn: string, values: readonly unknown[], isPrepared = false): Promise<Row[]> {
    const text = this.#textOf(fn, values.length)
    if (!isPrepared) return (await on.query(text, [...values])).rows as Row[]
    const query = { name: `holdfast ${fn}`, values: [...values], ...limited(text) }
    return (await (on as pg.Pool).query(query)).rows as Row[]
  }

  /**
   * As `callOn`, each row as one text and each value as one: whatever the caller's connection makes of other types, it
   * leaves those alone. `types` are those of the function's arguments.
   */
  async callAsText<Row>(
    on: Queryable,
    fn: string,
    values: readonly (string | null)[],
    types: readonly string[],
  ): Promise<Row[]> {
    const places = types.map((type, index) => `$${index + 1}::text::${type}`).join(', ')
    const text = `select to_json(answer)::text as answer from ${this.names.quoted}.${fn}(${places}) answer`
    const { rows } = await on.query(text, [...values])
    return rows.map((row) => JSON.parse((row as { answer: string }).answer) as Row)
  }

  /**
   * Lends a session to work that is more than one function call. One in an unknown state is not used again: after
   * connection loss, when the work calls `discard`, or when it has prepared what answers otherwise by now.
   */
  async withSession<T>(work: (client: pg.PoolClient, discard: () => void) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch((error: unknown) => {
      throw this.#explained(error)
    })
    let isDiscarded = false
    this.#borrowed.add(client)
    try {
      return await work(client, () => void (isDiscarded = true))
    } catch (error) {
      isDiscarded ||= isConnectionLoss(error) || isSuperseded(error)
      throw error
    } finally {
      this.#borrowed.delete(client)
      client.release(isDiscarded)
    }
  }

  /** The server has fallen silent: what waits for its answers is told, and asks it on new connections. */
  cut(): void {
    for (const client of [...this.#sessions, ...this.#borrowed]) sever(client)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.isOwn) await part(this.#clock, this.pool.end(), this.#sessions)
  }

  /** Has a session, to learn what the others will be. */
  async #meet(): Promise<boolean> {
    const client = await this.pool.connect()
    client.release()
    return this.#isWrapped ?? false
  }

  async #again<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work()
      } catch (error) {
        // Each session may hold a call that was prepared before its function was replaced.
        if (!isUndone(error) || tries > Math.max(10, this.size)) throw this.#explained(error)
        await this.#clock.sleep(this.#clock.random() * 20 * tries)
      }
    }
  }

  async #transact<T>(work: (on: Queryable) => Promise<T>): Promise<T> {
    return await this.withSession(async (client) => {
      const on: Queryable = {
        query: (text, given) => client.query({ ...limited(text), ...(given && { values: given }) }),
      }
      await on.query(wrapped)
      try {
        const answer = await work(on)
        await on.query('commit')
        return answer
      } catch (error) {
        if (!isConnectionLoss(error)) await on.query('rollback')
        throw error
      }
    })
  }

  #textOf(fn: string, arity: number): string {
    let text = this.#texts.get(fn)
    if (text === undefined) {
      const parameters = Array.from({ length: arity }, (_, index) => `$${index + 1}`).join(', ')
      text = `select * from ${this.names.quoted}.${fn}(${parameters})`
      this.#texts.set(fn, text)
    }
    return text
  }

  #explained(error: unknown): unknown {
    if (this.#isClosed) return new ClosedError('The connection was closed.', { cause: error })
    return explain(error)
  }
}

const limited = (text: string) => ({ text, types: plainTypes, query_timeout: silenceMs })

/** A `bigint` here counts something, and JSON stays text for whoever knows what is in it. */
export const plainTypes: pg.CustomTypesConfig = typeParsers({ numbers: [20, 21, 23, 700, 701], json: [] })

/** A pool of sessions set up as ours; those that a pooler lends are not, for whoever wants to know of them. */
export function sessionPool(
  config: pg.ClientConfig,
  size: number,
  setup: string = sessionSetup,
  onMeet?: (isPooled: boolean) => void,
): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    max: size,
    connectionTimeoutMillis: 5_000,
    // oxlint-disable-next-line typescript/no-misused-promises -- the pool waits for it, whatever its types say
    onConnect: async (client) => {
      const isLent = onMeet !== undefined && (await isPooled(client))
      onMeet?.(isLent)
      if (!isLent) await client.query(setup)
    },
  })
  // An idle session that is cut off is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}
