import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { runCli } from '../cli/run-cli.ts'
import { useDatabase } from '../support/database.ts'
import { psql } from '../support/psql.ts'
import { HandClient, named } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()
const doubled = defineWorkflow({
  name: 'doubled',
  input: z.object({ n: z.number(), of: z.string().optional() }),
  handler: ({ n }, run) => (n < 0 ? run.fail('negative') : n * 2),
})

async function count(): Promise<number> {
  const { rows } = await database.query<{ count: number }>('select count(*)::int as count from holdfast.runs')
  return rows[0]?.count ?? 0
}

beforeAll(() => startWorker(database, { workflows: [doubled] }).then((worker) => worker.stop()))

test('RUN-01: a run started from psql runs', async () => {
  const call = named(`select id from holdfast.start('doubled', '{"n": 21}', key => 'from psql')`)
  const id = await psql(database, call)
  await startWorker(database, { workflows: [doubled] })
  const client = openClient(database)
  expect(await client.result<unknown>(id.trim())).toBe(42)
  expect(await client.get(id.trim())).toMatchObject({ key: 'from psql', input: { n: 21 } })
})

test('RUN-08: a trigger starts a run for each row that commits', async () => {
  await database.query(
    named(`create table public.orders (id text primary key, n integer);
    create function public.start_order() returns trigger language plpgsql as $$
    begin
      perform holdfast.start('doubled', json_build_object('n', new.n), key => new.id);
      return new;
    end $$;
    create trigger start_order after insert on public.orders for each row execute function public.start_order()`),
  )
  const client = openClient(database)
  await startWorker(database, { workflows: [doubled] })
  const session = new HandClient({ connectionString: database.connectionString })
  await session.connect()
  await session.query('begin')
  await session.query(`insert into public.orders values ('undone', 1)`)
  await session.query('rollback')
  await session.query('begin')
  await session.query(`insert into public.orders select 'order ' || n, n from generate_series(1, 3) n`)
  expect(await client.get({ workflow: doubled, key: 'order 3' })).toBeUndefined()
  await session.query('commit')
  await session.end()
  expect(await client.result({ workflow: doubled, key: 'order 3' })).toBe(6)
  expect(await client.get({ workflow: doubled, key: 'undone' })).toBeUndefined()
})

test('RUN-07, P4: the key of a run that failed is answered by one rule at every entrance', async () => {
  await startWorker(database, { workflows: [doubled] })
  const client = openClient(database)
  const key = 'failed'
  const [same, other] = [
    { n: -1, of: 'us' },
    { n: -2, of: 'us' },
  ]
  const run = await client.start(doubled, same, { key })
  await client.result(run).catch(() => undefined)
  const fromSql = async (input: object, rest = ''): Promise<unknown> =>
    (
      await database.query(`select * from holdfast.start('doubled', $1, key => $2${rest})`, [
        JSON.stringify(input, null, 1),
        key,
      ])
    ).rows[0]
  const fromCli = async (input: object, ...rest: string[]): Promise<unknown> => {
    const args = ['start', 'doubled', '--input', JSON.stringify(input), '--key', key, '--json', ...rest]
    const { code, stdout, stderr } = await runCli(args, { DATABASE_URL: database.connectionString })
    if (code !== 0) throw Object.assign(new Error(stderr), { code: /KEY_REUSED/.exec(stderr)?.[0] })
    return JSON.parse(stdout)
  }
  // What is spaced and ordered otherwise is the same input.
  const turned = { of: 'us', n: -1 }
  const answer = { id: run.id, created: false, state: 'failed' }
  expect(await client.start(doubled, turned, { key })).toEqual(answer)
  expect(await client.startMany(doubled, [{ input: turned, key }])).toEqual([answer])
  expect(await client.startMany(doubled, [{ input: turned, key }], { mode: 'each' })).toEqual([answer])
  expect(await fromSql(turned)).toEqual(answer)
  expect(await fromCli(turned)).toEqual(answer)

  const refused = { code: 'KEY_REUSED' }
  await expect(client.start(doubled, other, { key })).rejects.toMatchObject(refused)
  await expect(client.startMany(doubled, [{ input: other, key }])).rejects.toMatchObject(refused)
  expect(await client.startMany(doubled, [{ input: other, key }], { mode: 'each' })).toMatchObject([{ error: refused }])
  await expect(fromSql(other)).rejects.toMatchObject({ code: 'WF006' })
  await expect(fromCli(other)).rejects.toMatchObject(refused)

  expect(await client.start(doubled, other, { key, allowDifferentInput: true })).toEqual(answer)
  expect(await fromSql(other, ', allow_different_input => true')).toEqual(answer)
  expect(await fromCli(other, '--allow-different-input')).toEqual(answer)
})

test('RUN-05: a key with an input that only JSON can hold is told from another all the same', async () => {
  const start = (input: string) =>
    database.query<{ created: boolean }>(`select created from holdfast.start('doubled', $1, key => 'odd')`, [input])
  const nul = String.raw`{"n": 1, "of": "\u0000"}`
  expect((await start(nul)).rows).toEqual([{ created: true }])
  expect((await start(nul)).rows).toEqual([{ created: false }])
  await expect(start(String.raw`{"n": 1, "of": "\u0000 "}`)).rejects.toMatchObject({ code: 'WF006' })
})

test.each([
  ['an unknown workflow', `'nobody', '1'`, 'WF002'],
  ['an empty key', `'doubled', '1', key => ''`, 'WF008'],
  ['a long key', `'doubled', '1', key => repeat('k', 513)`, 'WF008'],
  ['an empty group', `'doubled', '1', "group" => ''`, 'WF008'],
  ['too high a priority', `'doubled', '1', priority => 32768`, 'WF008'],
  ['no attempt', `'doubled', '1', max_attempts => 0`, 'WF008'],
  ['metadata that is no object', `'doubled', '1', metadata => '[]'`, 'WF008'],
  ['metadata that is no text', `'doubled', '1', metadata => '{"a": 1}'`, 'WF008'],
  ['two times', `'doubled', '1', due_at => now(), delay => '1 s'`, 'WF008'],
  ['a time that no Date can hold', `'doubled', '1', due_at => 'infinity'`, 'WF008'],
  ['a delay that goes back', `'doubled', '1', delay => '-1 s'`, 'WF008'],
])('RUN-17: from SQL, %s is refused before a row is written', async (_, args, code) => {
  const before = await count()
  await expect(database.query(`select * from holdfast.start(${args})`)).rejects.toMatchObject({ code })
  expect(await count()).toBe(before)
})
