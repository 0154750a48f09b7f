import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { HandClient } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'

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

test('OPS-05: one that answers otherwise, one with other arguments, and one of no file are replaced; grants stay', async () => {
  await database.query('grant execute on function holdfast._require_read_committed() to pg_monitor')
  const signatures = async (): Promise<unknown> =>
    (
      await database.query(
        `select oid::regprocedure::text as signature, prorettype::regtype::text as answer, proacl::text as grants
         from pg_proc
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
  expect((await client.list()).items.length).toBe(1)
  await database.query(
    `drop function holdfast.list_runs;
     create function holdfast.list_runs(_filter json, _before uuid, _limit integer, _looks integer)
     returns table (run text, next uuid, more integer) language sql stable
     as $$ select to_json(v)::text, null::uuid, 1 from holdfast.run_views v $$`,
  )
  expect((await client.list()).items.length).toBe(1)
  await replaceAll()
  expect((await client.list()).items.length).toBe(1)
})

test('OPS-05: a transaction that prepared a query of its own goes on when a deploy has widened the table', async () => {
  await database.query('create table public.widened (a integer)')
  const reads = defineWorkflow({
    name: 'reads',
    handler: (_, run) =>
      run.transaction('read', async (tx) => {
        const prepared: unknown = { name: 'read widened', text: 'select * from public.widened' }
        return (await tx.query(prepared as string)).rows.length
      }),
  })
  await startWorker(database, { workflows: [reads], concurrency: 1 })
  const client = openClient(database)
  for (const column of ['b', 'c']) {
    const run = await client.start(reads)
    expect(await client.result(run)).toBe(0)
    expect(await client.get(run)).toMatchObject({ attempt: 1 })
    await database.query(`alter table public.widened add column ${column} integer`)
  }
})
