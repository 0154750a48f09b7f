import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { rolesScript, roleNames, type RoleName } from '../../src/db/roles.ts'
import { defineWorkflow } from '../../src/index.ts'
import { runCli } from '../cli/run-cli.ts'
import { connect } from '../support/connections.ts'
import { useDatabase, type Address } from '../support/database.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { names, variant } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()
const granted = defineWorkflow({
  name: 'granted',
  handler: async (_, run) => {
    run.progress(1)
    return await run.step('one', () => 1)
  },
})

/** A user of that role alone, of whom nothing is left afterwards. Roles belong to the whole server. */
const users = Object.fromEntries(roleNames.map((role) => [role, `${role}_of_${process.pid}`])) as Record<
  RoleName,
  string
>

function as(role: RoleName): Address {
  const url = new URL(database.connectionString)
  url.username = users[role]
  url.password = 'secret'
  return { connectionString: url.href }
}

beforeAll(async () => {
  await database.query(rolesScript(names))
  for (const role of roleNames) {
    await database.query(`create role ${users[role]} login password 'secret'`)
    await database.query(`grant "${(variant.schema ?? 'holdfast').replaceAll('"', '""')}_${role}" to ${users[role]}`)
  }
  const worker = await startWorker(database, { workflows: [granted] })
  await worker.stop()
})

afterAll(async () => {
  for (const user of Object.values(users)) await database.query(`drop role ${user}`)
})

const denied = { code: 'DATABASE_PERMISSION' }

test('a producer starts runs, alone, in batches and transactions, signals them, and reads those it names', async () => {
  const client = openClient(as('producer'))
  const run = await client.start(granted, undefined, { key: 'mine' })
  await client.startMany(granted, [{}, {}])
  const session = await connect(database, as('producer'))
  await session.query('begin')
  const query = async (text: string, values?: unknown[]) => ({ rows: await session.query(text, values) })
  const inside = await client.start(granted, undefined, { tx: { query } })
  await session.query('commit')
  expect(await session.query(`select created from holdfast.start('granted', 'null')`)).toEqual([{ created: true }])
  await session.query(
    `select holdfast.send_signals(json_build_array(json_build_object('id', gen_random_uuid(), 'run', $1::text, 'name', 'hello', 'payload', '1')))`,
    [run.id],
  )
  expect(await client.get(inside)).toMatchObject({ state: 'waiting' })
  const result = client.result(run)
  await startWorker(database, { workflows: [granted] })
  expect(await result).toBe(1)
})

test('a producer signals and answers runs, and a viewer sees who waits for a person', async () => {
  const asking = defineWorkflow({
    name: 'asking',
    handler: async (_, run) => [
      await run.waitFor('asked'),
      await run.park('answer', { reason: 'May it?', schema: z.boolean() }),
    ],
  })
  await startWorker(as('worker'), { workflows: [asking] })
  const [producer, viewer] = [openClient(as('producer')), openClient(as('viewer'))]
  const run = await producer.start(asking)
  await producer.signal(run, 'asked', 1)
  await expect.poll(() => viewer.parked()).toMatchObject([{ run: run.id, step: 'answer', reason: 'May it?' }])
  await expect
    .poll(async () => (await viewer.why(run)).reasons)
    .toMatchObject([{ kind: 'suspended', waits: [{ kind: 'park' }] }])
  await expect(viewer.signal(run, 'asked', 1)).rejects.toMatchObject(denied)
  await expect(viewer.unpark(run, true)).rejects.toMatchObject(denied)
  await expect(producer.parked()).rejects.toMatchObject(denied)
  await producer.unpark(run, true)
  expect(await producer.result(run)).toEqual([1, true])
})

test('a producer cannot list, steer, claim, or read a table', async () => {
  const [client, run] = [openClient(as('producer')), await openClient(database).start(granted)]
  await expect(client.list()).rejects.toMatchObject(denied)
  await expect(client.info()).rejects.toMatchObject(denied)
  await expect(client.cancel(run)).rejects.toMatchObject(denied)
  await expect(client.retry(run)).rejects.toMatchObject(denied)
  await expect(client.delete(run)).rejects.toMatchObject(denied)
  await expect(client.reserve({ workflows: ['granted'] })).rejects.toMatchObject(denied)
  const session = await connect(database, as('producer'))
  for (const table of ['runs', 'steps', 'keys', 'definitions', 'run_views']) {
    await expect(session.query(`select from holdfast.${table}`)).rejects.toMatchObject({ code: '42501' })
  }
})

test('a worker runs, sweeps and steers, and changes no table, function or right', async () => {
  await startWorker(as('worker'), { workflows: [granted] })
  const client = openClient(as('worker'))
  const run = await client.start(granted)
  expect(await client.result(run)).toBe(1)
  const later = await client.start(granted, undefined, { delay: '1h' })
  expect(await client.cancel(later)).toMatchObject({ state: 'cancelled' })
  await client.retry(later)
  expect(await client.result(later)).toBe(1)
  expect((await client.list()).items.length).toBeGreaterThan(1)
  const session = await connect(database, as('worker'))
  for (const statement of [
    'create table holdfast.more (id int)',
    'drop table holdfast.runs',
    'alter table holdfast.runs add more int',
    'truncate holdfast.runs',
    'drop function holdfast.info()',
    `create role more_of_${process.pid}`,
  ]) {
    await expect(session.query(statement)).rejects.toMatchObject({ code: '42501' })
  }
})

test('a viewer looks at everything and changes nothing', async () => {
  const [client, own] = [openClient(as('viewer')), openClient(database)]
  const run = await own.start(granted)
  expect(await client.get(run)).toMatchObject({ id: run.id })
  expect((await client.list({ workflow: granted })).items.map(({ id }) => id)).toContain(run.id)
  expect((await client.info()).workflows.map(({ name }) => name)).toContain('granted')
  const session = await connect(database, as('viewer'))
  expect(await session.query('select count(*) > 0 as is_seen from holdfast.runs')).toEqual([{ is_seen: true }])
  const watched = client.result(run)
  await startWorker(database, { workflows: [granted] })
  expect(await watched).toBe(1)

  await expect(client.start(granted)).rejects.toMatchObject(denied)
  await expect(client.cancel(run)).rejects.toMatchObject(denied)
  await expect(client.retry(run)).rejects.toMatchObject(denied)
  await expect(client.delete(run)).rejects.toMatchObject(denied)
  await expect(client.reserve({ workflows: ['granted'] })).rejects.toMatchObject(denied)
  await expect(session.query('delete from holdfast.runs')).rejects.toMatchObject({ code: '42501' })
  await expect(session.query('update holdfast.runs set priority = 1')).rejects.toMatchObject({ code: '42501' })
})

describe('of the functions in the schema', () => {
  const functions = async (columns: string): Promise<Record<string, unknown>[]> =>
    (
      await database.query(
        `select ${columns} from pg_proc p where p.pronamespace = 'holdfast'::regnamespace order by p.proname`,
      )
    ).rows

  test('those that run as their owner pin their search_path', async () => {
    const defined = await functions('p.proname, p.prosecdef, p.proconfig')
    const pinned = defined.filter(({ prosecdef }) => prosecdef)
    expect(pinned.map(({ proname }) => proname)).toEqual([
      'find_run',
      'look_at_runs',
      'see_definitions',
      'send_signals',
      'start',
      'start_runs',
      'unpark_run',
    ])
    for (const { proname, proconfig } of pinned) {
      expect({ proname, proconfig }).toMatchObject({
        proconfig: expect.arrayContaining(['search_path=pg_catalog, pg_temp']) as string[],
      })
    }
  })

  test('a producer and a viewer may call a few, and nobody else any', async () => {
    const may = (user: string) => functions(`p.proname, has_function_privilege('${user}', p.oid, 'execute') as may`)
    const called = async (user: string): Promise<unknown[]> =>
      (await may(user)).filter((each) => each['may']).map(({ proname }) => proname)
    expect(await called(users.producer)).toEqual([
      '_revision',
      'find_run',
      'look_at_runs',
      'see_definitions',
      'send_signals',
      'start',
      'start_runs',
      'unpark_run',
    ])
    expect(await called(users.viewer)).toEqual([
      '_ahead',
      '_depths',
      '_has_own_line',
      '_holders',
      '_limits_said',
      '_now',
      '_rate_left',
      '_rate_opens_at',
      '_revision',
      'audit_limits',
      'find_run',
      'info',
      'list_parked',
      'list_runs',
      'look_at_runs',
      'read_metrics',
      'show_limits',
      'show_schedules',
      'why_run',
    ])
    const nobody = await functions('p.proname, p.proacl')
    expect(nobody.filter(({ proacl }) => /^\{=|,=/.test(String(proacl)) || proacl === null)).toEqual([])
  })
})

test('the script of `workflow migrate --roles` may be run again, and after an upgrade must be', async () => {
  const { code, stdout } = await runCli(['migrate', '--roles', ...(variant.schema ? ['--schema', variant.schema] : [])])
  expect(code).toBe(0)
  const session = new pg.Client({ connectionString: database.connectionString })
  await session.connect()
  await session.query(stdout)
  await session.end()
  await migrateDatabase(database.connectionString)
  await openClient(as('producer')).start(granted)
  expect(stdout).toContain(names.quoted)
})
