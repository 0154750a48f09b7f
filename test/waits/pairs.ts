import { expect } from 'vitest'
import type { Connection } from '../support/connections.ts'
import { connect } from '../support/connections.ts'
import type { TestDatabase } from '../support/database.ts'
import { claim, newWorker, pgArray, runningRuns, settle } from '../support/runs.ts'

/** Two things that happen to runs at once, in every order in which two transactions can take, hold and commit. */

export type Deed = (session: Connection) => Promise<unknown>

/** `first`: it has committed before the other begins. `held`: it has done its work, and commits after the other was asked. */
export const orders = [
  'a, then b',
  'b, then a',
  'b while a is held',
  'a while b is held',
  'both held, a commits first',
  'both held, b commits first',
] as const

export type Order = (typeof orders)[number]

/** Does both. What dead-locks or is refused otherwise throws. */
export async function interleave(database: TestDatabase, order: Order, a: Deed, b: Deed): Promise<void> {
  const [one, two] = [await connect(database), await connect(database)]
  const [first, second] = order.startsWith('b') || order === 'both held, b commits first' ? [b, a] : [a, b]
  const isSwapped = order === 'b while a is held' || order === 'a while b is held'
  const [held, other] = isSwapped ? [second, first] : [first, second]
  if (order === 'a, then b' || order === 'b, then a') {
    await first(one)
    await second(two)
    return
  }
  await one.query('begin')
  await held(one)
  if (isSwapped) {
    const asked = other(two)
    await one.query('commit')
    await asked
    return
  }
  await two.query('begin')
  const asked = other(two)
  // It may have to wait for the commit, or not.
  await Promise.race([asked.catch(() => undefined), waitsForLock(database, two)])
  await one.query('commit')
  await asked
  await two.query('commit')
}

async function waitsForLock(database: TestDatabase, session: Connection): Promise<void> {
  await expect
    .poll(
      async () => {
        const { rows } = await database.query(
          `select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`,
          [session.pid],
        )
        return rows.length
      },
      { timeout: 10_000, interval: 5 },
    )
    .toBe(1)
    .catch(() => undefined)
}

export interface Scene {
  readonly database: TestDatabase
  readonly worker: string
  /** The run it is about, and one that it calls or may call. */
  readonly run: string
  readonly child: string
}

/** A run and another one, both claimed with token 1 by the same worker. */
export async function scene(database: TestDatabase): Promise<Scene> {
  const session = await connect(database)
  const worker = newWorker()
  const [run, child] = (await runningRuns(session, worker, 2)) as [string, string]
  return { database, worker, run, child }
}

/** The tickets in the queue are taken as a worker takes them, until nothing is due any more. Answers how often the run was claimed. */
export async function drain({ database, run }: Scene): Promise<number> {
  const session = await connect(database)
  const worker = newWorker()
  let claims = 0
  for (;;) {
    await session.call('promote_due', 100)
    const tickets = await session.query<{ run: string }>(
      `with taken as (delete from holdfast_queue._private_jobs returning payload) select payload ->> 'run' as run from taken`,
    )
    if (tickets.length === 0) return claims
    for (const claimed of await claim(session, worker, [...new Set(tickets.map((ticket) => ticket.run))])) {
      if (claimed.id === run) claims += 1
      await settle(session, worker, [{ id: claimed.id, token: claimed.token, outcome: 'suspended' }])
    }
  }
}

/** A suspended run for which something has come. There must be none once no ticket is left. */
export async function lostWakeUps({ database }: Scene): Promise<unknown[]> {
  const { rows } = await database.query(
    `select r.id, r.state, s.name from holdfast.runs r
     join holdfast.waits w on w.run_id = r.id
     left join holdfast.signals s on s.run_id = coalesce(r.chain_id, r.id) and s.name = w.name and s.taken_by is null
     where r.state = 'suspended' and (s.arrival is not null or w.due_at <= holdfast._now())`,
  )
  return rows
}

export interface Aftermath {
  readonly state: string
  readonly memos: readonly string[]
}

export async function aftermath({ database }: Scene, id: string): Promise<Aftermath> {
  const { rows } = await database.query<Aftermath>(
    `select r.state, array(
       select s.key || ' ' || s.kind from holdfast.steps s where s.run_id = r.id order by s.seq) as memos
     from holdfast.runs r where r.id = $1`,
    [id],
  )
  return rows[0] as Aftermath
}

export const cancel =
  (id: string): Deed =>
  (session) =>
    session.call('cancel_runs', pgArray([id]), null)
