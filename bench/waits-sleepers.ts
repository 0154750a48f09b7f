/**
 * Runs that sleep, more than could be started one by one: copies of one that really sleeps. A copy has rows of its own in
 * all tables that know the original, and differs in its id and in when everything was and will be.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { openWaits } from './peers/waits.ts'
import { count, inChunks, type Load } from './peers/peer.ts'
import { WorkerHandle } from './worker-handle.ts'

const pollMs = 5
const chunk = 50_000
/** The copies' beginnings lie in so many days before the original's. */
const days = 20

const tables = { runs: 'id', waits: 'run_id', claims: 'run_id' } as const
type Table = keyof typeof tables

/** Has a run sleep for 30 days, and answers its id. */
export async function makeSleeper(database: pg.Client, load: Load): Promise<string> {
  const client = await openWaits(load.connectionString)
  const worker = new WorkerHandle(undefined)
  try {
    await worker.load('waits', load)
    await worker.start()
    const { id } = await client.sleep(0, '30d')
    await untilSuspended(database, id)
    await worker.stop()
    return id
  } finally {
    await worker.kill()
    await client.close()
  }
}

export async function untilSuspended(database: pg.Client, run: string): Promise<void> {
  const giveUpAt = performance.now() + 30_000
  const sql = `select count(*) from holdfast.runs where id = '${run}' and state = 'suspended'`
  while ((await count(database, sql)) === 0) {
    if (performance.now() > giveUpAt) throw new Error(`Run ${run} was not suspended in time.`)
    await sleep(pollMs)
  }
}

/** `total` of them, the original included. */
export async function fillSleepers(database: pg.Client, original: string, total: number): Promise<void> {
  const copies = total - 1
  await inChunks(copies, chunk, 1, ([first = 0, ...others]) =>
    copySleeper(
      database,
      original,
      `select (n::float8 / ${copies} - 1) * interval '${days} days' from generate_series(${first}, ${others.at(-1) ?? first}) n`,
    ),
  )
  await checkSleepers(database, original, total)
}

/** `stretches`: SQL that answers a row a copy, by how much later everything of it is. */
export async function copySleeper(database: pg.Client, original: string, stretches: string): Promise<void> {
  // Days are as long as each other there.
  await database.query(`set timezone to 'UTC'`)
  const inserts = (await columnsOf(database)).map(({ table, columns }) => {
    const values = columns.map(({ name, isInstant }) => {
      if (name === tables[table]) return 'c.id'
      return isInstant ? `t.${name} + c.stretch` : `t.${name}`
    })
    return `${table} as (
      insert into holdfast.${table} (${columns.map(({ name }) => name).join(', ')})
      select ${values.join(', ')} from copies c join holdfast.${table} t on t.${tables[table]} = '${original}'
    )`
  })
  await database.query(
    `with copies as materialized (
      select s.stretch, (
        lpad(to_hex(floor(extract(epoch from r.created_at + s.stretch) * 1000)::bigint), 12, '0')
          || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid as id
      from holdfast.runs r cross join (${stretches}) s (stretch) where r.id = '${original}'
    ), ${inserts.join(', ')} select`,
  )
}

interface Columns {
  readonly table: Table
  readonly columns: readonly { readonly name: string; readonly isInstant: boolean }[]
}

async function columnsOf(database: pg.Client): Promise<readonly Columns[]> {
  const { rows } = await database.query<Columns>(
    `select table_name as table, json_agg(json_build_object(
       'name', column_name, 'isInstant', data_type = 'timestamp with time zone') order by ordinal_position) as columns
     from information_schema.columns
     where table_schema = 'holdfast' and table_name = any($1) and is_generated = 'NEVER' group by table_name`,
    [Object.keys(tables)],
  )
  return rows
}

/** Sleepers that are unlike the one that a worker has left would measure something else. */
async function checkSleepers(database: pg.Client, original: string, total: number): Promise<void> {
  const counted = { suspended: total, waits: total, claims: total, tickets: 0, alike: 1, right: 1 }
  const shown = (await columnsOf(database)).flatMap(({ table, columns }) =>
    columns
      .filter(({ name }) => name !== tables[table])
      .map(({ name, isInstant }) => `${table}.${name}${isInstant ? ' - runs.created_at' : ''}`),
  )
  const { rows } = await database.query<Record<string, string>>(
    `with shown as (
      select row(${shown.join(', ')})::text as text
      from (
        select * from holdfast.runs where id = '${original}'
        union all
        select * from holdfast.runs tablesample system (1)
      ) runs
      left join holdfast.waits on waits.run_id = runs.id
      left join holdfast.claims on claims.run_id = runs.id
    )
    select (select count(*) from holdfast.runs
        where state = 'suspended' and due_at > now() + interval '9 days') as suspended,
      (select count(*) from holdfast.waits w join holdfast.runs r on r.id = w.run_id and r.due_at = w.due_at) as waits,
      (select count(*) from holdfast.claims c join holdfast.runs r on r.id = c.run_id and r.token = c.token + 1) as claims,
      (select count(*) from holdfast_queue._private_jobs) as tickets,
      (select count(distinct text) from shown) as alike,
      (select count(*) from holdfast.runs where id = '${original}' and token = 2 and is_resuming and is_rate_free) as right`,
  )
  for (const [what, expected] of Object.entries(counted)) {
    const found = Number(rows[0]?.[what])
    if (found !== expected) throw new Error(`The sleepers are not right: ${what} is ${found}, not ${expected}.`)
  }
}
