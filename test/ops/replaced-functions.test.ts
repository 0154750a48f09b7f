import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { HandClient } from '../support/variant.ts'
import { openClient } from '../support/worker.ts'

const database = useDatabase()
const twelve = defineWorkflow({ name: 'twelve', input: z.number(), handler: (n) => n })

async function replaceAll(): Promise<void> {
  await database.query(`update holdfast.function_sets set checksum = 'that of another release'`)
  await migrateDatabase(database.connectionString)
}

async function connect(): Promise<HandClient> {
  const client = new HandClient({ connectionString: database.connectionString })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

test('OPS-05: a call that was read before the functions were replaced finds its own when it runs', async () => {
  const [holder, caller] = [await connect(), await connect()]
  await holder.query('create table public.gate ()')
  await holder.query('begin; lock table public.gate')
  const { rows } = await caller.query<{ pid: number }>('select pg_backend_pid() as pid')
  // The function is looked up first; then the table is waited for.
  const answer = caller.query('select * from holdfast._now() left join public.gate on true')
  answer.catch(() => undefined)
  await expect
    .poll(() => database.query('select from pg_locks where pid = $1 and not granted', [rows[0]?.pid]))
    .toMatchObject({ rowCount: 1 })
  await replaceAll()
  await holder.query('commit')
  expect((await answer).rowCount).toBe(1)
  await Promise.all([holder.end(), caller.end()])
})

test('OPS-05: one that answers otherwise, one with other arguments, and one of no file are replaced too', async () => {
  const signatures = async (): Promise<unknown> =>
    (
      await database.query(
        `select oid::regprocedure::text as signature, prorettype::regtype::text as answer from pg_proc
         where pronamespace = 'holdfast'::regnamespace order by 1`,
      )
    ).rows
  const before = await signatures()
  await database.query(`drop function holdfast._now()`)
  await database.query(`create function holdfast._now() returns text language sql as $$ select 'now' $$`)
  await database.query(`create function holdfast._notify(_one integer) returns text language sql as $$ select 'one' $$`)
  await database.query(`create function holdfast.of_before() returns text language sql as $$ select 'before' $$`)
  await replaceAll()
  expect(await signatures()).toEqual(before)
})

test('OPS-05: a call that a session has prepared goes on when its function answers with more columns', async () => {
  const client = openClient(database)
  await client.start(twelve, 12)
  expect((await client.list()).length).toBe(1)
  await database.query(
    `drop function holdfast.list_runs;
     create function holdfast.list_runs(_workflow text, _state text, _limit integer)
     returns table (run text, more integer) language sql stable
     as $$ select to_json(v)::text, 1 from holdfast.run_views v $$`,
  )
  expect((await client.list()).length).toBe(1)
  await replaceAll()
  expect((await client.list()).length).toBe(1)
})
