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

/**
 * Does both. What dead-locks or is refused otherwise throws. Tickets are taken as soon as they are there: what a ticket brings
 * comes to nothing while its run is still held by the other.
 */
export async function interleave(on: Scene, order: Order, a: Deed, b: Deed): Promise<void> {
  const { database } = on
  const [one, two] = [await connect(database), await connect(database)]
  const isSwapped = order === 'b, then a' || order === 'a while b is held' || order === 'both held, b commits first'
  const [first, second] = isSwapped ? [b, a] : [a, b]
  if (order === 'a, then b' || order === 'b, then a') {
    await first(one)
    await takeTickets(on)
    await second(two)
    return
  }
  await one.query('begin')
  await first(one)
  const isHeld = order.startsWith('both held')
  if (isHeld) await two.query('begin')
  const asked = second(two)
  // It may have to wait for the commit, or not.
  await Promise.race([asked.catch(() => undefined), waitsForLock(database, two)])
  await one.query('commit')
  const taken = takeTickets(on)
  await asked
  if (isHeld) await two.query('commit')
  await taken
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
  await session.query('delete from holdfast_queue._private_jobs')
  return { database, worker, run, child }
}

/** Takes what tickets there are, as a worker does, and suspends whatever it claimed again. Answers how often the run was claimed. */
async function takeTickets({ database, run }: Scene): Promise<number | undefined> {
  const session = await connect(database)
  const worker = newWorker()
  const tickets = await session.query<{ run: string }>(
    `with taken as (delete from holdfast_queue._private_jobs returning payload) select payload ->> 'run' as run from taken`,
  )
  if (tickets.length === 0) return undefined
  let claims = 0
  for (const claimed of await claim(session, worker, [...new Set(tickets.map((ticket) => ticket.run))])) {
    if (claimed.id === run) claims += 1
    await settle(session, worker, [{ id: claimed.id, token: claimed.token, outcome: 'suspended' }])
  }
  return claims
}

/** Until nothing is due any more. */
export async function drain(on: Scene): Promise<number> {
  const session = await connect(on.database)
  for (let claims = 0; ;) {
    await session.call('promote_due', 100)
    const more = await takeTickets(on)
    if (more === undefined) return claims
    claims += more
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

export async function aftermath({ database }: Scene, id: string): Promise<Aftermath | undefined> {
  const { rows } = await database.query<Aftermath>(
    `select r.state, array(
       select s.key || ' ' || s.kind from holdfast.steps s where s.run_id = r.id order by s.seq) as memos
     from holdfast.runs r where r.id = $1`,
    [id],
  )
  return rows[0]
}

export const cancel =
  (id: string): Deed =>
  (session) =>
    session.call('cancel_runs', pgArray([id]), null)
