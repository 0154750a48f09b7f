import pg from 'pg'
import type { Queryable } from '../../src/index.ts'
import { Database } from '../../src/db/database.ts'
import { logBody } from './body-log.ts'

/**
 * Points at which a worker's process kills or freezes itself: right before a SQL function is sent, or right after it was
 * answered and before anybody knows. They live in a subclass of the database that only tests make, so nothing of them
 * is in the published build. What the queue sends goes by another way: there, a proxy's cut with `act` does it.
 */

export interface FailPoint {
  readonly when: 'before' | 'after'
  /** A SQL function, such as `keep_steps`. */
  readonly fn: string
  readonly how: 'kill' | 'freeze'
}

const signals = { kill: 'SIGKILL', freeze: 'SIGSTOP' } as const

export class FailingDatabase extends Database {
  #armed: FailPoint | undefined

  /** The next time it gets there; undefined: never. */
  arm(point: FailPoint | undefined): void {
    this.#armed = point
  }

  override async callOn<Row>(
    on: Queryable,
    fn: string,
    values: readonly unknown[],
    isPrepared = false,
  ): Promise<Row[]> {
    this.#meet('before', fn)
    const rows = await super.callOn<Row>(on, fn, values, isPrepared)
    // Of a call in a transaction of its own the answer is what follows the commit.
    if (on instanceof pg.Client) this.#meet('after', fn)
    logWrites(fn, values, rows)
    return rows
  }

  override async call<Row>(fn: string, values: readonly unknown[]): Promise<Row[]> {
    const rows = await super.call<Row>(fn, values)
    this.#meet('after', fn)
    return rows
  }

  #meet(when: FailPoint['when'], fn: string): void {
    const point = this.#armed
    if (point?.fn !== fn || point.when !== when) return
    this.#armed = undefined
    logBody({ did: point.how, run: '', key: fn })
    process.kill(process.pid, signals[point.how])
  }
}

interface Refusal {
  readonly n: number
  readonly lost: string | null
}

/** Where the ids and tokens of the claims stand among the values of the writes that a lost claim is refused. */
const places: Readonly<Record<string, number>> = { keep_steps: 0, settle_runs: 1 }

/** Which of these writes were refused, and which settles were not. */
function logWrites(fn: string, values: readonly unknown[], rows: readonly unknown[]): void {
  const place = places[fn]
  if (place === undefined) return
  const [ids = [], tokens = [], outcomes = []] = [0, 1, 2].map((next) => listOf(values[place + next]))
  const refused = new Map((rows as Refusal[]).map(({ n, lost }) => [n - 1, lost]))
  for (const [index, run] of ids.entries()) {
    const claim = { run, token: Number(tokens[index]), key: fn }
    const lost = refused.get(index)
    const settle = fn === 'settle_runs' ? { outcome: outcomes[index] ?? '' } : undefined
    if (lost) logBody({ did: 'refused', ...claim, ...settle, value: lost })
    else if (settle) logBody({ did: 'settled', ...claim, ...settle })
  }
}

/** Of an array that Postgres is given as a text, none of whose items needs quotes. */
function listOf(array: unknown): string[] {
  return String(array).slice(1, -1).split(',')
}
