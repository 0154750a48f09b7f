import { EventEmitter } from 'node:events'
import type pg from 'pg'
import type { Clock } from '../model/clock.ts'
import { ClosedError } from '../model/errors.ts'
import { sessionPool, sessionSetup } from './database.ts'
import { isLockTimeout, isUndone } from './database-errors.ts'
import { patiently } from './patience.ts'
import { part, sessionsOf, sever } from './sever.ts'
import { typeParsers } from './type-parsers.ts'

/**
 * The pool the queue runs on. The queue gives up at the first query that meets a stopped database or a dead lock; this
 * pool waits for the server instead, and sends a query that was lost or undone again on a new connection.
 *
 * That is sound because every query the queue sends may run twice: a fetch whose reply was lost leaves tickets locked,
 * which are unlocked before it is sent again; a completion repeated deletes nothing.
 */

export interface PatientPoolOptions {
  readonly config: pg.ClientConfig
  readonly size: number
  readonly clock: Clock
  readonly onLoss?: (error: unknown) => void
  /** What to say first, once a fetch whose reply was lost is sent again. */
  readonly beforeRefetch?: () => { readonly text: string; readonly values: unknown[] }
}

/** As the queue expects them, but for times: of the four in every job one is looked at, to be compared with its like. */
export const queueTypes: pg.CustomTypesConfig = typeParsers({ numbers: [21, 23], json: [114, 3802] })

/**
 * A commit that a crash of the server undoes here is a ticket's lock or its end: the ticket is fetched again, and the
 * claim finds nothing to do. So no run waits for the disk on that account; starts, claims and settles do not go this way.
 *
 * A plan for all calls of a statement is made early, when the queue may be known to be empty, and is kept: fetches then compare
 * every ticket with every other. So each is planned anew, but for merge joins: to weigh one the planner looks for the least id,
 * past all the tickets that were deleted lately.
 */
const queueSetup = [
  sessionSetup,
  `set timezone = 'UTC'`,
  'set synchronous_commit = off',
  'set plan_cache_mode = force_custom_plan',
  'set enable_mergejoin = off',
].join(';')

type ConnectCallback = (error: Error | undefined, client?: pg.PoolClient, release?: () => void) => void

export class PatientPool extends EventEmitter {
  readonly options: { readonly max: number }
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #sessions: ReadonlySet<pg.ClientBase>
  readonly #onLoss: PatientPoolOptions['onLoss']
  readonly #beforeRefetch: PatientPoolOptions['beforeRefetch']
  readonly #closing = new AbortController()

  constructor({ config, size, clock, onLoss, beforeRefetch }: PatientPoolOptions) {
    super()
    // The queue would warn that it is small; sessions are shared by batches, not one to a task.
    this.options = { max: Infinity }
    this.#pool = sessionPool({ ...config, types: queueTypes }, size, queueSetup)
    this.#clock = clock
    this.#sessions = sessionsOf(this.#pool)
    this.#onLoss = onLoss
    this.#beforeRefetch = beforeRefetch
    // The queue looks for listeners before it trusts a pool; errors are handled in here.
    this.on('error', () => undefined)
    this.on('connect', () => undefined)
  }

  /** Typed as what the queue asks for: it uses connect, query, the events and `options.max`. */
  asPool(): pg.Pool {
    return this as unknown as pg.Pool
  }

  /** With a callback: a real session, for LISTEN. Without: a stand-in whose queries are patient. */
  connect(callback?: ConnectCallback): Promise<unknown> | undefined {
    if (callback === undefined) {
      return Promise.resolve({
        query: (query: unknown, values?: unknown) => this.query(query, values),
        release: () => undefined,
      })
    }
    this.#patiently(() => this.#pool.connect()).then(
      (client) => callback(undefined, client, () => client.release(true)),
      (error: unknown) => callback(error as Error),
    )
    return undefined
  }

  query(query: unknown, values?: unknown): Promise<pg.QueryResult> {
    return this.#patiently(async (loss) => {
      const first = loss > 0 && isFetch(query) ? this.#beforeRefetch?.() : undefined
      if (first) await this.#pool.query(first)
      return await this.#pool.query(query as string, values as unknown[])
    })
  }

  /** The server has fallen silent: what waits for its answers is asked again on new connections. */
  cut(): void {
    for (const client of this.#sessions) sever(client)
  }

  async end(): Promise<void> {
    this.#closing.abort()
    await part(this.#clock, this.#pool.end(), this.#sessions)
  }

  #patiently<T>(work: (loss: number) => Promise<T>): Promise<T> {
    if (this.#closing.signal.aborted) return Promise.reject(new ClosedError('The queue was closed.'))
    const until = this.#closing.signal
    return patiently({ clock: this.#clock, until, onLoss: this.#onLoss, also: isUndoneOrLate }, work)
  }
}

function isUndoneOrLate(error: unknown): boolean {
  return isUndone(error) || isLockTimeout(error)
}

/** Only a fetch locks what nobody else has locked. */
function isFetch(query: unknown): boolean {
  const text = typeof query === 'string' ? query : (query as { readonly text?: unknown } | undefined)?.text
  return typeof text === 'string' && /\bskip locked\b/i.test(text)
}
