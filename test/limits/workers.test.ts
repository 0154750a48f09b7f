import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, type Client, type Workflow } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { useDatabase } from '../support/database.ts'
import { brokenInvariants, mostAtOnce } from '../support/limits.ts'
import { troubled } from '../support/troubled.ts'
import { fastTimings, openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

/** Nothing is found by sweeping: what starts does so by its ticket. */
const unswept = { ...fastTimings, sweepMs: 3_600_000, lookMs: 3_600_000 }

const input = z.object({ group: z.string() })
const group = (given: z.infer<typeof input>): string => given.group

afterEach(async () => {
  expect(await brokenInvariants(database)).toEqual({})
})

/** A workflow whose run under the key `holder` keeps its place until it is told to go. */
function held(name: string, concurrency: number) {
  const [begun, go] = [signal(), signal()]
  const workflow = defineWorkflow({
    name,
    concurrency,
    handler: async (_, run) => {
      if (run.key !== 'holder') return
      begun.give()
      await go.promise
    },
  })
  return { workflow, begun, go }
}

async function startIn(
  client: Client,
  workflow: Workflow,
  count: number,
  groups: number,
): Promise<readonly { id: string }[]> {
  const items = Array.from({ length: count }, (_, n) => ({ input: { group: `g${n % groups}` } }))
  return await client.startMany(workflow, items)
}

test.each([
  { limits: { concurrency: 5 }, all: 5, each: 5 },
  { limits: { concurrency: { perGroup: 2 } }, all: 40, each: 2 },
  { limits: { concurrency: { limit: 7, perGroup: 1 } }, all: 7, each: 1 },
  { limits: { concurrency: 4, fair: true }, all: 4, each: 4 },
])('LIMIT-01, D4: three workers together never exceed $limits, and use it', async ({ limits, all, each }) => {
  const workflow = defineWorkflow({
    name: `together ${JSON.stringify(limits).replaceAll(/\W+/g, ' ')}x`,
    input,
    group,
    ...limits,
    handler: () => systemClock.sleep(3),
  })
  const client = openClient(database)
  const runs = await startIn(client, workflow, 400, 20)
  for (let n = 0; n < 3; n += 1) await startWorker(database, { workflows: [workflow], timings: unswept })
  await Promise.all(runs.map((run) => client.result(run)))
  const most = await mostAtOnce(database, workflow.name)
  expect(most.all).toBeLessThanOrEqual(all)
  expect(most.group).toBeLessThanOrEqual(each)
  expect(most.all).toBeGreaterThan(1)
})

test('LIMIT-01, C7: runs that cannot begin, fail at once or are not known give their places back', async () => {
  const workflow = defineWorkflow({
    name: 'odd ones',
    input,
    group,
    concurrency: { limit: 2, perGroup: 1 },
    handler: ({ group: name }) => {
      if (name === 'g1') throw Object.assign(new Error('before any step'), { retryable: false })
    },
  })
  const client = openClient(database)
  const runs = await startIn(client, workflow, 60, 3)
  await database.query(
    `update holdfast.runs set input = '{"group":7}' where workflow = 'odd ones' and group_key = 'g2'`,
  )
  await startWorker(database, { workflows: [workflow], timings: unswept })
  const results = await Promise.allSettled(runs.map((run) => client.result(run)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
  const { rows } = await database.query(`select sum(live)::int as live from holdfast.lines where workflow = 'odd ones'`)
  expect(rows).toEqual([{ live: 0 }])
})

test('RUN-13: the place of a cancelled holder is free at once, though its handler goes on', async () => {
  const { workflow, begun, go } = held('cancelled holder', 1)
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: unswept })
  const holder = await client.start(workflow, undefined, { key: 'holder' })
  await begun.promise
  const next = await client.start(workflow)
  await client.cancel(holder)
  await client.result(next)
  go.give()
})

test('LIMIT-06: a run that snoozes or waits for its next try holds no place meanwhile, and takes one again', async () => {
  const order: string[] = []
  const workflow = defineWorkflow({
    name: 'gives way',
    concurrency: 1,
    retry: { initial: 50, jitter: 0 },
    handler: (_, run) => {
      order.push(`${run.key} ${run.attempt}`)
      if (run.key === 'snoozes' && order.filter((line) => line.startsWith('snoozes')).length === 1)
        return run.snooze(50)
      if (run.key === 'retries' && run.attempt === 1) throw new Error('once more')
      return undefined
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow] })
  const runs = []
  for (const key of ['snoozes', 'retries', 'last']) runs.push(await client.start(workflow, undefined, { key }))
  await Promise.all(runs.map((run) => client.result(run)))
  expect(order.slice(0, 3)).toEqual(['snoozes 1', 'retries 1', 'last 1'])
  expect(order.slice(3).toSorted()).toEqual(['retries 2', 'snoozes 1'])
  expect(await mostAtOnce(database, workflow.name)).toMatchObject({ all: 1 })
})

test.each(['claim_lines', 'settle_runs'])(
  'LEASE-15: a reply of %s that was lost wedges no line and counts no attempt',
  async (fn) => {
    const workflow = defineWorkflow({
      name: `lost ${fn.replace('_', ' ')}`,
      concurrency: 1,
      lease: '1.5s',
      handler: (_, run) => run.attempt,
    })
    const client = openClient(database)
    const runs = await client.startMany(
      workflow,
      Array.from({ length: 12 }, () => ({ input: undefined })),
    )
    const { kind } = troubled(fn, ['made and its reply lost', 'made and its reply lost'])
    await startWorker(database, { workflows: [workflow], kind, timings: { ...unswept, renewAfter: 1 / 3 } })
    const attempts = await Promise.all(runs.map((run) => client.result(run)))
    expect(new Set(attempts)).toEqual(new Set([1]))
    expect(await mostAtOnce(database, workflow.name)).toMatchObject({ all: 1 })
  },
)

test('LIMIT-03: tickets that a stopping worker gives back reach another worker', async () => {
  const { workflow, begun, go } = held('handed back', 2)
  const client = openClient(database)
  const worker = await startWorker(database, { workflows: [workflow], timings: unswept })
  const holder = await client.start(workflow, undefined, { key: 'holder' })
  await begun.promise
  const stopped = worker.stop()
  const runs = await client.startMany(
    workflow,
    Array.from({ length: 20 }, () => ({ input: undefined })),
  )
  go.give()
  await stopped
  await startWorker(database, { workflows: [workflow], timings: unswept })
  await Promise.all([holder, ...runs].map((run) => client.result(run)))
})

test('LIMIT-03: a ticket that got lost is made good by the sweep', async () => {
  const { workflow, begun, go } = held('lost ticket', 1)
  const client = openClient(database)
  const worker = await startWorker(database, { workflows: [workflow], timings: unswept, concurrency: 1 })
  await client.start(workflow, undefined, { key: 'holder' })
  await begun.promise
  const next = await client.start(workflow)
  await database.query(`update holdfast.runs set is_set_aside = true where id = $1`, [next.id])
  await database.query(`update holdfast.lines set aside = 1 where workflow = 'lost ticket'`)
  const stopped = worker.stop()
  go.give()
  await stopped
  await database.query(`delete from holdfast_queue._private_jobs`)
  await startWorker(database, { workflows: [workflow] })
  await client.result(next)
  await vi.waitFor(async () => {
    const { rows } = await database.query(`select aside from holdfast.lines where workflow = 'lost ticket'`)
    expect(rows).toEqual([{ aside: 0 }])
  }, 15_000)
})
