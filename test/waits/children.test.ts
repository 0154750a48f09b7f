import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { becomes, endsOfClaims } from '../support/waiting.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const doubles = defineWorkflow({
  name: 'doubles',
  input: z.number(),
  handler: async (n, run) => {
    await run.sleep('nap', 10)
    return n * 2
  },
})

async function childrenOf(id: string): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    'select id from holdfast.runs where parent_id = $1 order by created_at, id',
    [id],
  )
  return rows.map((row) => row.id)
}

test("WAIT-03: a child's answer is its call's, and its parent waits for it without a slot", async () => {
  const client = openClient(database)
  const parent = defineWorkflow({
    name: 'parent',
    handler: async (_, run) => [await run.call(doubles, 1), await run.call(doubles, 2)],
  })
  await startWorker(database, { workflows: [doubles, parent], concurrency: 1 })
  const started = await client.start(parent)
  expect(await client.result(started)).toEqual([2, 4])
  const children = await childrenOf(started.id)
  expect(children).toHaveLength(2)
  expect(await client.get(children[0] ?? '')).toMatchObject({ parentId: started.id, input: 1, output: 2 })
  expect(await endsOfClaims(database, started.id)).toEqual(['suspended', 'suspended', 'done'])
})

test('WAIT-03: the end of a child and the word of it to its parent are one transaction', async () => {
  const client = openClient(database)
  const parent = defineWorkflow({ name: 'is told', handler: (_, run) => run.call(doubles, 21) })
  const parents = await startWorker(database, { workflows: [parent] })
  const started = await client.start(parent)
  await becomes(client, started, 'suspended')
  await parents.stop()
  await startWorker(database, { workflows: [doubles] })
  const [child = ''] = await childrenOf(started.id)
  await client.result(child)
  const { rows } = await database.query(
    `select s.xmin = c.xmin as is_one, s.payload::text from holdfast.signals s, holdfast.runs c
     where s.run_id = $1 and c.id = $2`,
    [started.id, child],
  )
  expect(rows).toEqual([{ is_one: true, payload: '42' }])
  await startWorker(database, { workflows: [parent] })
  expect(await client.result(started)).toBe(42)
})

test('WAIT-03: run.start does not wait, and answers the same child on every replay', async () => {
  const client = openClient(database)
  const seen: string[] = []
  const parent = defineWorkflow({
    name: 'starts',
    handler: async (_, run) => {
      const child = await run.start(doubles, 5)
      seen.push(child.id)
      await run.sleep('nap', 10)
      return child.id
    },
  })
  await startWorker(database, { workflows: [doubles, parent] })
  const started = await client.start(parent)
  const id = await client.result(started)
  expect(seen).toEqual([id, id])
  expect(await childrenOf(started.id)).toEqual([id])
  expect(await client.result(id)).toBe(10)
})

test('WAIT-03: fifty children in parallel each give their own answer', async () => {
  const client = openClient(database)
  const many = Array.from({ length: 50 }, (_, n) => n)
  const parent = defineWorkflow({
    name: 'has fifty',
    handler: (_, run) => Promise.all(many.map((n) => run.call(doubles, n))),
  })
  await startWorker(database, { workflows: [doubles, parent] })
  expect(await client.result(await client.start(parent))).toEqual(many.map((n) => n * 2))
})

test('WAIT-03: every kind of output, also a large one, arrives as the child made it', async () => {
  const client = openClient(database)
  const large = 'x'.repeat(900_000)
  const made = {
    date: new Date(1e12),
    map: new Map([['a', new Set([1])]]),
    none: undefined,
    bytes: new Uint8Array([1, 2]),
    large,
  }
  const makes = defineWorkflow({ name: 'makes', handler: () => made })
  const parent = defineWorkflow({
    name: 'takes',
    handler: async (_, run) => {
      const { large: text, ...rest } = await run.call(makes)
      return { ...rest, isLarge: text === large }
    },
  })
  await startWorker(database, { workflows: [makes, parent] })
  const { large: _, ...rest } = made
  expect(await client.result(await client.start(parent))).toEqual({ ...rest, isLarge: true })
})

test("WAIT-03: a child's key names a run that is there, whether it has ended or not", async () => {
  const client = openClient(database)
  const parent = defineWorkflow({
    name: 'names its child',
    handler: (_, run) => Promise.all([1, 2].map(() => run.call(doubles, 4, { key: 'four' }))),
  })
  await startWorker(database, { workflows: [doubles, parent] })
  const first = await client.start(parent)
  expect(await client.result(first)).toEqual([8, 8])
  expect(await client.result(await client.start(parent))).toEqual([8, 8])
  const { rows } = await database.query(`select parent_id from holdfast.runs where key = 'four'`)
  expect(rows).toEqual([{ parent_id: first.id }])
})

test('WAIT-03: each run of a chain can call the child that a key names', async () => {
  const client = openClient(database)
  const parent = defineWorkflow({
    name: 'a chain that calls',
    input: z.number(),
    handler: async (left, run) => {
      const answer = await run.call(doubles, 6, { key: 'six' })
      return left === 0 ? answer : run.continueAs(left - 1)
    },
  })
  await startWorker(database, { workflows: [doubles, parent] })
  expect(await client.result(await client.start(parent, 3), { timeout: '10s' })).toBe(12)
})

test('WAIT-03: a run that goes on as another is waited for until the last of them ends', async () => {
  const client = openClient(database)
  const counts = defineWorkflow({
    name: 'counts down',
    input: z.number(),
    handler: (left, run) => (left === 0 ? 'zero' : run.continueAs(left - 1)),
  })
  const parent = defineWorkflow({
    name: 'calls a chain',
    handler: async (_, run) => [await run.call(counts, 5), await run.call(counts, 2, { key: 'two' })],
  })
  await startWorker(database, { workflows: [counts, parent] })
  expect(await client.result(await client.start(parent))).toEqual(['zero', 'zero'])
})
