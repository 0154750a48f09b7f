import { lineInvariants } from './line-invariants.ts'
import { newId, startItem } from './runs.ts'
import type { Connection } from './connections.ts'
import type { TestDatabase } from './database.ts'

export interface GivenLimits {
  readonly concurrency?: number
  readonly concurrencyPerGroup?: number
  readonly rate?: { readonly limit: number; readonly perMs: number }
  readonly ratePerGroup?: { readonly limit: number; readonly perMs: number }
  readonly isFair?: boolean
}

type Asked = Pick<Connection, 'call'>

/** Puts a definition with these limits on record, as a worker or a client does. */
export async function define(session: Asked, workflow: string, limits: GivenLimits): Promise<void> {
  const policy = { maxAttempts: 10, leaseMs: 30_000, maxLeaseMs: 900_000, limits: { isFair: false, ...limits } }
  await session.call('see_definitions', [{ workflow, fingerprint: newId(), policy }])
}

/** Starts runs of a workflow of one's own, due in this order. */
export async function startIn(
  session: Asked,
  workflow: string,
  ...groups: readonly (string | undefined)[]
): Promise<string[]> {
  const items = groups.map((group) => startItem({ workflow, ...(group === undefined ? {} : { group_key: group }) }))
  await session.call('start_runs', items)
  return items.map(({ id }) => id)
}

export interface Ticket {
  readonly run: string | undefined
  readonly group: string | undefined
}

/** The tickets in the queue, as a worker would get them, and takes them off it. */
export async function takeTickets(database: TestDatabase, workflow: string, limit = 1_000): Promise<Ticket[]> {
  const { rows } = await database.query<{ payload: { run?: string; group?: string } }>(
    `delete from holdfast_queue._private_jobs where id in (
       select j.id from holdfast_queue._private_jobs j join holdfast_queue._private_tasks t on t.id = j.task_id
       where t.identifier = $1 order by j.priority, j.run_at, j.id limit $2)
     returning payload`,
    [workflow, limit],
  )
  return rows.map(({ payload }) => ({ run: payload.run, group: payload.group ?? undefined }))
}

export interface LockedTicket extends Ticket {
  readonly job: string
}

/** Tickets in a worker's hands: still in the queue, where no other gets them. */
export async function lockTickets(database: TestDatabase, workflow: string, limit = 1_000): Promise<LockedTicket[]> {
  const { rows } = await database.query<{ id: string; payload: { run?: string; group?: string } }>(
    `update holdfast_queue._private_jobs set locked_at = now(), locked_by = 'test', attempts = attempts + 1 where id in (
       select j.id from holdfast_queue._private_jobs j join holdfast_queue._private_tasks t on t.id = j.task_id
       where t.identifier = $1 and j.is_available order by j.priority, j.run_at, j.id limit $2)
     returning id, payload`,
    [workflow, limit],
  )
  return rows.map(({ id, payload }) => ({ job: id, run: payload.run, group: payload.group ?? undefined }))
}

export async function endTickets(database: TestDatabase, tickets: readonly LockedTicket[]): Promise<void> {
  await database.query('delete from holdfast_queue._private_jobs where id = any($1)', [tickets.map(({ job }) => job)])
}

/** What is wrong with the lines, by what must hold of them; nothing: {}. */
export async function brokenInvariants(database: Pick<TestDatabase, 'query'>): Promise<Record<string, unknown[]>> {
  const broken: Record<string, unknown[]> = {}
  for (const [name, sql] of Object.entries(lineInvariants)) {
    const { rows } = await database.query(sql)
    if (rows.length > 0) broken[name] = rows
  }
  return broken
}

/** The most claims that a workflow, and any group of it, had at once, from the record alone. */
export async function mostAtOnce(
  database: Pick<TestDatabase, 'query'>,
  workflow: string,
): Promise<{ all: number; group: number }> {
  const { rows } = await database.query<{ all: number; group: number }>(
    `with claims as (
       select r.group_key, c.began_at, coalesce(c.ended_at, 'infinity') as ended_at
       from holdfast.all_claims c join holdfast.runs r on r.id = c.run_id where r.workflow = $1
     ), changes as (
       select group_key, began_at as at, 1 as change from claims union all select group_key, ended_at, -1 from claims
     )
     select max(live)::int as all, max(live_in)::int as group from (
       select sum(change) over (order by at, change) as live,
         sum(change) over (partition by group_key order by at, change) as live_in from changes
     ) course`,
    [workflow],
  )
  return rows[0] as { all: number; group: number }
}
