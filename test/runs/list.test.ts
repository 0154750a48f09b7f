import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, type ListFilter } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const [first, second] = ['listed first', 'listed second'].map((name) =>
  defineWorkflow({
    name,
    input: z.number(),
    group: (n) => (n % 2 === 0 ? 'even' : undefined),
    handler: (n, run) => (n < 3 ? run.fail('small') : n),
  }),
) as [ReturnType<typeof make>, ReturnType<typeof make>]

function make() {
  return defineWorkflow({ name: 'shape', input: z.number(), handler: (n) => n })
}

test('RUN-14: list gives runs newest first, page after page, each once, though more come meanwhile', async () => {
  const client = openClient(database)
  const ids: string[] = []
  for (let n = 0; n < 25; n += 1) ids.push((await client.start(first, n)).id)
  const found: string[] = []
  let cursor: string | undefined
  do {
    const page = await client.list({ workflow: first, limit: 10, cursor })
    expect(page.items.length).toBeLessThanOrEqual(10)
    found.push(...page.items.map(({ id }) => id))
    cursor = page.cursor
    await client.start(first, 100)
  } while (cursor !== undefined)
  expect(found).toEqual(ids.toReversed())
})

test('RUN-14: list fits all that it is asked for', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [second] })
  const runs = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      client.start(second, n, { key: `${n < 4 ? 'low' : 'high'}-${n}`, metadata: { n: String(n), of: 'six' } }),
    ),
  )
  await Promise.allSettled(runs.map((run) => client.result(run)))
  const numbers = async (filter: ListFilter): Promise<number[]> =>
    (await client.list({ workflow: second, ...filter })).items
      .map(({ input }) => Number(input))
      .toSorted((a, b) => a - b)
  expect(await numbers({ state: 'failed' })).toEqual([0, 1, 2])
  expect(await numbers({ state: ['done', 'failed'] })).toEqual([0, 1, 2, 3, 4, 5])
  expect(await numbers({ state: 'waiting' })).toEqual([])
  expect(await numbers({ keyPrefix: 'low-' })).toEqual([0, 1, 2, 3])
  expect(await numbers({ group: 'even' })).toEqual([0, 2, 4])
  expect(await numbers({ metadata: { of: 'six' } })).toEqual([0, 1, 2, 3, 4, 5])
  expect(await numbers({ metadata: { of: 'six', n: '4' } })).toEqual([4])
  expect(await numbers({ metadata: { of: 'seven' } })).toEqual([])
  const [{ createdAt } = { createdAt: new Date() }] = (await client.list({ workflow: second, limit: 1 })).items
  expect(await numbers({ createdAfter: new Date(createdAt.getTime() + 60_000) })).toEqual([])
  expect(await numbers({ createdBefore: new Date(createdAt.getTime() + 60_000) })).toHaveLength(6)
  expect((await client.list({ workflow: ['listed first', second], keyPrefix: 'high' })).items).toHaveLength(2)
})

test('RUN-14: a page that looks far for what fits finds it', async () => {
  await database.query(
    `insert into holdfast.runs (id, workflow, state, priority, max_attempts, created_at, due_at, ended_at, group_key)
     select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'many', 'done', 0, 1, now(), now(), now(),
       case when n % 12000 = 1 then 'rare' end
     from generate_series(1, 25000) n`,
  )
  const client = openClient(database)
  const page = await client.list({ workflow: 'many', group: 'rare' })
  expect(page.items.map(({ id }) => id.slice(-4))).toEqual(['5dc1', '2ee1', '0001'])
  expect(page.cursor).toBeUndefined()
})

test.each<[string, ListFilter, string]>([
  ['an unknown filter', { status: 'done' } as never, 'status'],
  ['an unknown state', { state: 'ready' as never }, 'state'],
  ['no state', { state: [] }, 'state'],
  ['a workflow that is none', { workflow: 7 as never }, 'workflow'],
  ['a limit of nothing', { limit: 0 }, 'limit'],
  ['too high a limit', { limit: 1_001 }, 'limit'],
  ['a time that is none', { createdAfter: new Date(Number.NaN) }, 'createdAfter'],
  ['metadata that is none', { metadata: { n: 1 } as never }, 'metadata.n'],
  ['an empty prefix', { keyPrefix: '' }, 'keyPrefix'],
  ['a cursor of its own making', { cursor: 'r1.AAAA' }, 'cursor'],
  ['a cursor that is none', { cursor: '01a22b40-e90c-76ef-b848-274e3b17fcf8' }, 'cursor'],
])('RUN-14: list refuses %s', async (_, filter, field) => {
  await expect(openClient(database).list(filter)).rejects.toMatchObject({ code: 'ARGUMENT', field })
})

test('RUN-10: info says what lives and what waits', async () => {
  await startWorker(database, { workflows: [second], concurrency: 7 })
  const info = await openClient(database).info()
  expect(info.server).toMatch(/^\d+/)
  expect(info.workers).toMatchObject([{ workflows: ['listed second'], slots: 7, running: 0 }])
  expect(info.workflows.find(({ name }) => name === 'listed first')).toMatchObject({
    waiting: expect.any(Number) as number,
    running: 0,
    oldestWaitingAt: expect.any(Date) as Date,
  })
  expect(info.workflows.find(({ name }) => name === 'listed second')).toMatchObject({ failed: 3, waiting: 0 })
})
