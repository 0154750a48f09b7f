import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { HandClient } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()
const plain = defineWorkflow({ name: 'one of many', input: z.number(), handler: (n) => n + 1 })
const capped = defineWorkflow({ name: 'capped', input: z.number(), maxWaiting: 3, handler: (n) => n })

async function count(workflow: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::int as count from holdfast.runs where workflow = $1',
    [workflow],
  )
  return rows[0]?.count ?? 0
}

test('RUN-16: a batch starts all of its runs, in its order', async () => {
  const client = openClient(database)
  const started = await client.startMany(
    plain,
    Array.from({ length: 1_200 }, (_, n) => ({ input: n, key: `all-${n % 1_000}`, allowDifferentInput: true })),
  )
  expect(started).toHaveLength(1_200)
  expect(await count(plain.name)).toBe(1_000)
  expect(started.map(({ created }) => created)).toEqual(Array.from({ length: 1_200 }, (_, n) => n < 1_000))
  expect(started[1_100]?.id).toBe(started[100]?.id)
  await startWorker(database, { workflows: [plain] })
  expect(await client.result(started[999]!)).toBe(1_000)
  expect(await client.startMany(plain, [])).toEqual([])
})

test('RUN-16: one bad item and nothing is started; the error names the item', async () => {
  const client = openClient(database)
  const before = await count(plain.name)
  const items = [{ input: 1 }, { input: 2 }, { input: 'three' as never }, { input: 4 }]
  await expect(client.startMany(plain, items)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    field: expect.stringMatching(/^items\[2\]/) as string,
    message: expect.stringContaining('items[2]') as string,
  })
  await client.start(plain, 7, { key: 'taken' })
  await expect(client.startMany(plain, [{ input: 1 }, { input: 8, key: 'taken' }])).rejects.toMatchObject({
    code: 'KEY_REUSED',
    field: 'items[1].key',
  })
  await expect(client.startMany(plain, [{ input: 1 }, { input: 1, tx: {} } as never])).rejects.toMatchObject({
    code: 'ARGUMENT',
    field: 'items[1].tx',
  })
  await expect(client.startMany(plain, [undefined as never])).rejects.toMatchObject({ field: 'items[0]' })
  await expect(client.startMany(plain, 7 as never)).rejects.toMatchObject({ field: 'items' })
  await expect(client.startMany(plain, [], { mode: 'some' as never })).rejects.toMatchObject({ field: 'mode' })
  expect(await count(plain.name)).toBe(before + 1)
})

test('RUN-16: each for itself: what is refused says so in its place, and the others start', async () => {
  const client = openClient(database)
  await client.start(plain, 9, { key: 'taken too' })
  const results = await client.startMany(
    plain,
    [{ input: 1 }, { input: 'two' as never }, { input: 3, key: 'taken too' }, { input: 4, key: 'new' }],
    { mode: 'each' },
  )
  expect(results).toMatchObject([
    { created: true },
    { error: { code: 'INVALID_INPUT', field: expect.stringMatching(/^items\[1\]/) as string } },
    { error: { code: 'KEY_REUSED', field: 'items[2].key' } },
    { created: true },
  ])
})

test.each(['all', 'each'] as const)(
  'RUN-16: %s of a batch is there if the transaction commits, and only then',
  async (mode) => {
    const client = openClient(database)
    const before = await count(plain.name)
    const tx = new HandClient({ connectionString: database.connectionString })
    await tx.connect()
    for (const end of ['rollback', 'commit']) {
      await tx.query('begin')
      const items = [{ input: 1 }, { input: 2 }]
      await (mode === 'all' ? client.startMany(plain, items, { tx }) : client.startMany(plain, items, { mode, tx }))
      expect(await count(plain.name)).toBe(before)
      await tx.query(end)
    }
    await tx.end()
    expect(await count(plain.name)).toBe(before + 2)
  },
)

test('RUN-16: a batch that is refused in a transaction leaves nothing there, and the transaction goes on', async () => {
  const client = openClient(database)
  await client.start(plain, 7, { key: 'taken for the batch' })
  const before = await count(plain.name)
  const tx = new HandClient({ connectionString: database.connectionString })
  await tx.connect()
  await tx.query('begin')
  await client.start(plain, 1, { tx })
  const items = [{ input: 2 }, { input: 8, key: 'taken for the batch' }]
  await expect(client.startMany(plain, items, { tx })).rejects.toMatchObject({ field: 'items[1].key' })
  await client.start(plain, 3, { tx })
  await tx.query('commit')
  await tx.end()
  expect(await count(plain.name)).toBe(before + 2)
})

test('P3: a batch of ten with three distinct keys answers ten', async () => {
  const client = openClient(database)
  const started = await client.startMany(
    plain,
    Array.from({ length: 10 }, (_, n) => ({ input: n % 3, key: `p3-${n % 3}` })),
  )
  expect(started).toHaveLength(10)
  expect(new Set(started.map(({ id }) => id)).size).toBe(3)
  await startWorker(database, { workflows: [plain] })
  expect(await Promise.all(started.map((run) => client.result(run)))).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3, 1])
})

test('RUN-18: past maxWaiting a start is refused and leaves nothing, duplicates pass, and there is room again after', async () => {
  const client = openClient(database)
  const [held] = await client.startMany(capped, [{ input: 1, key: 'held' }, { input: 2 }, { input: 3 }])
  await expect(client.start(capped, 4, { key: 'late' })).rejects.toMatchObject({
    code: 'QUEUE_FULL',
    field: 'maxWaiting',
  })
  expect(await client.start(capped, 1, { key: 'held' })).toMatchObject({ id: held?.id, created: false })
  expect(await client.get({ workflow: capped, key: 'late' })).toBeUndefined()
  expect((await database.query(`select from holdfast.keys where key = 'late'`)).rowCount).toBe(0)
  await expect(client.startMany(capped, [{ input: 5 }])).rejects.toMatchObject({
    code: 'QUEUE_FULL',
    field: 'items[0].maxWaiting',
  })
  await expect(database.query(`select * from holdfast.start('capped', '6')`)).rejects.toMatchObject({ code: 'WF003' })
  expect(await count(capped.name)).toBe(3)
  const worker = await startWorker(database, { workflows: [capped] })
  await client.result(held!)
  await expect.poll(async () => (await client.list({ workflow: capped, state: 'waiting' })).items.length).toBe(0)
  await worker.stop()
  const five = await client.startMany(
    capped,
    Array.from({ length: 5 }, (_, n) => ({ input: n })),
    { mode: 'each' },
  )
  expect(five.filter((each) => 'error' in each)).toHaveLength(2)
})

test('RUN-18: a batch of starts beside others in one commit refuses no more than it must', async () => {
  const client = openClient(database)
  const roomy = defineWorkflow({ name: 'roomy', maxWaiting: 10, handler: () => undefined })
  const outcomes = await Promise.allSettled(Array.from({ length: 25 }, () => client.start(roomy)))
  const made = await count(roomy.name)
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(made)
  expect(made).toBeGreaterThanOrEqual(10)
  const session = await connect(database)
  expect(await session.query(`select count(*)::int as waiting from holdfast.runs where workflow = 'roomy'`)).toEqual([
    { waiting: made },
  ])
})
