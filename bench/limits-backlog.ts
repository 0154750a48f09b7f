/**
 * Runs that are really set aside, prepared faster than a worker would: their tickets are looked at as a worker looks at
 * them, 500 at a time, for a worker that is on no record. It holds the only slot of their group.
 */
import type pg from 'pg'
import { lineInvariants } from '../test/support/line-invariants.ts'
import type { LimitedClient } from './peers/limited.ts'
import { count } from './peers/peer.ts'

const holder = '00000000-0000-4000-8000-000000000000'
const leaseMs = 3_600_000

/** The holder is the first of these runs; the others are set aside. */
export async function fillGroup(
  database: pg.Client,
  client: LimitedClient,
  group: string,
  numbers: readonly number[],
): Promise<void> {
  await client.startIn(group, numbers)
  while (await lookAtTickets(database)) continue
  const aside = await count(
    database,
    `select count(*) from holdfast.runs where group_key = '${group}' and state = 'waiting' and is_set_aside`,
  )
  if (aside !== numbers.length - 1) throw new Error(`${aside} runs of ${group} are set aside, not all but the first.`)
}

interface Tickets {
  readonly runs: string[]
  readonly groups: string[]
}

async function lookAtTickets(database: pg.Client): Promise<boolean> {
  const { rows } = await database.query<Tickets>(
    `with taken as (
       delete from holdfast_queue._private_jobs
       where id in (select id from holdfast_queue._private_jobs order by run_at, id limit 500)
       returning payload, run_at
     )
     select array_agg(payload ->> 'run' order by run_at) as runs, array_agg(payload ->> 'group' order by run_at) as groups
     from taken having count(*) > 0`,
  )
  const [tickets] = rows
  if (!tickets) return false
  await database.query('select from holdfast.claim_lines($1, $2::uuid[], $3::text[], $4::text[], $5::float8[])', [
    holder,
    tickets.runs,
    tickets.runs.map(() => 'limited'),
    tickets.groups,
    tickets.runs.map(() => leaseMs),
  ])
  return true
}

/** Ends the holders' runs, which makes room in each group for the next. */
export async function letGo(database: pg.Client): Promise<void> {
  await database.query(
    `select holdfast.settle_runs('${holder}', array_agg(r.id), array_agg(r.token), array_agg('done'::text), array_agg(0),
       array_agg('null'::json), array_agg(null::text), array_agg(null::json))
     from holdfast.runs r where r.worker_id = '${holder}' and r.state = 'running'`,
  )
}

/** Resolves with whether all claims of workers have ended, and all tickets, those that came to nothing too. */
export async function isAllOver(database: pg.Client): Promise<boolean> {
  const left = await count(
    database,
    `select (select count(*) from holdfast.runs where token % 2 = 1 and worker_id <> '${holder}')
       + (select count(*) from holdfast_queue._private_jobs) as count`,
  )
  return left === 0
}

/** A backlog of which this does not hold is not what a worker would have left. */
export async function checkLines(database: pg.Client): Promise<void> {
  for (const [broken, sql] of Object.entries(lineInvariants)) {
    const { rows } = await database.query(sql)
    if (rows.length > 0) throw new Error(`The backlog is not right: ${broken}: ${JSON.stringify(rows[0])}.`)
  }
}
