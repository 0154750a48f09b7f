import { expect, test, vi } from 'vitest'
import { ClosedError, defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { stays } from './forked-workflows.ts'

const database = useDatabase()
const module = new URL('forked-workflows.ts', import.meta.url)

async function lockedTickets(): Promise<unknown[]> {
  return (await database.query('select payload from holdfast_queue._private_jobs where locked_by is not null')).rows
}

test('OPS-02: a stop lets running claims finish, begins no other, and gives back what had not begun', async () => {
  const go = signal()
  const entered: string[] = []
  const workflow = defineWorkflow({
    name: 'let finish',
    handler: async (_, run) => {
      entered.push(run.id)
      await go.promise
      return await run.step('last', () => run.abortSignal.aborted)
    },
  })
  const client = openClient(database)
  const started = await Promise.all(Array.from({ length: 12 }, () => client.start(workflow)))
  const worker = await startWorker(database, { workflows: [workflow], concurrency: 2, graceMs: 60_000 })
  await vi.waitFor(() => expect(entered).toHaveLength(2), 10_000)
  const stopped = worker.stop()
  go.give()
  await stopped
  await worker.done

  expect(entered).toHaveLength(2)
  expect(await Promise.all(entered.map((id) => client.result<unknown>(id)))).toEqual([false, false])
  const others = started.filter((run) => !entered.includes(run.id))
  for (const run of others) expect(await client.get(run)).toMatchObject({ state: 'waiting', attempt: 0 })
  expect(await lockedTickets()).toEqual([])
  await startWorker(database, { workflows: [workflow] })
  await Promise.all(others.map((run) => client.result(run)))
  await expect(worker.start()).rejects.toBeInstanceOf(ClosedError)
})

test('OPS-02: with a thousand runs queued no handler begins after the stop, and none is counted that did not', async () => {
  const bodies = new Map<string, number>()
  const some = signal()
  let isStopping = false
  let lateCount = 0
  const workflow = defineWorkflow({
    name: 'thousand',
    handler: (_, run) => {
      if (isStopping) lateCount += 1
      bodies.set(run.id, (bodies.get(run.id) ?? 0) + 1)
      if (bodies.size === 100) some.give()
      return run.step('work', () => run.attempt)
    },
  })
  const client = openClient(database)
  const started = await Promise.all(Array.from({ length: 1_000 }, () => client.start(workflow)))
  const worker = await startWorker(database, { workflows: [workflow] })
  await some.promise
  isStopping = true
  await worker.stop()
  expect(lateCount).toBe(0)
  const { rows } = await database.query<{ state: string; counted: number; runs: number }>(
    `select state, (attempt - case when is_resuming then 1 else 0 end) as counted, count(*)::int as runs
     from holdfast.runs where workflow = 'thousand' group by 1, 2 order by 1`,
  )
  expect(rows).toEqual([
    { state: 'done', counted: 1, runs: bodies.size },
    { state: 'waiting', counted: 0, runs: 1_000 - bodies.size },
  ])
  expect(await lockedTickets()).toEqual([])

  isStopping = false
  await startWorker(database, { workflows: [workflow] })
  const attempts = await Promise.all(started.map((run) => client.result(run)))
  expect(new Set(attempts)).toEqual(new Set([1]))
  expect([bodies.size, ...new Set(bodies.values())]).toEqual([1_000, 1])
})

test('OPS-02: past its grace a stop aborts and releases uncounted, and a handler that never settles does not hold it', async () => {
  const entered = signal()
  const refused: unknown[] = []
  const reasons: unknown[] = []
  let isFirst = true
  const workflow = defineWorkflow({
    name: 'never settles',
    maxAttempts: 1,
    handler: async (_, run) => {
      if (!isFirst) return run.attempt
      isFirst = false
      run.abortSignal.addEventListener('abort', () => {
        reasons.push(run.abortSignal.reason)
        void run.step('late', () => 'late').catch((error: unknown) => refused.push(error))
      })
      entered.give()
      return await new Promise<number>(() => undefined)
    },
  })
  const client = openClient(database)
  const started = await client.start(workflow)
  const worker = await startWorker(database, { workflows: [workflow] })
  await entered.promise
  await worker.stop({ grace: 100 })
  expect(await client.get(started)).toMatchObject({ state: 'waiting', attempt: 1 })
  expect(reasons).toEqual([expect.any(ClosedError)])
  expect(refused).toEqual(reasons)

  await startWorker(database, { workflows: [workflow] })
  expect(await client.result(started)).toBe(1)
  const { rows } = await database.query(
    'select outcome, attempt from holdfast.all_claims where run_id = $1 order by token',
    [started.id],
  )
  expect(rows).toEqual([
    { outcome: 'released', attempt: 1 },
    { outcome: 'done', attempt: 1 },
  ])
})

test.each(['later', 'at once'])('OPS-02: a second call, made %s, ends the grace', async (when) => {
  const entered = signal()
  const workflow = defineWorkflow({
    name: `hurried ${when}`,
    handler: () => {
      entered.give()
      return new Promise<void>(() => undefined)
    },
  })
  const client = openClient(database)
  const started = await client.start(workflow)
  const worker = await startWorker(database, { workflows: [workflow] })
  await entered.promise
  const first = worker.stop({ grace: '1h' })
  if (when === 'later') await database.query('select 1')
  await worker.stop()
  await first
  expect(await client.get(started)).toMatchObject({ state: 'waiting', attempt: 1 })
})

test('TRY-10: no shutdown counts, however many follow each other', async () => {
  const client = openClient(database)
  const entered: number[] = []
  const workflow = defineWorkflow({
    name: 'deployed over',
    maxAttempts: 2,
    handler: (_, run) => {
      entered.push(run.attempt)
      return new Promise<void>(() => undefined)
    },
  })
  const started = await client.start(workflow)
  for (let deploy = 1; deploy <= 6; deploy += 1) {
    const worker = await startWorker(database, { workflows: [workflow] })
    await vi.waitFor(() => expect(entered).toHaveLength(deploy), 10_000)
    await worker.stop({ grace: 0 })
  }
  expect(entered).toEqual([1, 1, 1, 1, 1, 1])
  expect(await client.get(started)).toMatchObject({ state: 'waiting', attempt: 1 })
})

test('OPS-02: on SIGTERM the process lets its handler finish and then ends by itself', async () => {
  const client = openClient(database)
  const worker = await forkWorker(database, { module, graceMs: 60_000 })
  const started = await client.start(stays)
  await worker.hear('entered', started.id)
  const ended = worker.terminate()
  await worker.hearLog('takes no more runs')
  const queued = await client.start(stays)
  worker.order('go')
  expect(await ended).toEqual({ code: 0, signal: null })
  expect(await client.result(started)).toBe(1)
  expect(await client.get(queued)).toMatchObject({ state: 'waiting', attempt: 0 })
  await client.cancel(queued)
})

test('OPS-02: a second SIGTERM hurries: the process releases what it runs and ends', async () => {
  const client = openClient(database)
  const worker = await forkWorker(database, { module, graceMs: 3_600_000 })
  const started = await client.start(stays)
  await worker.hear('entered', started.id)
  void worker.terminate()
  await worker.hearLog('takes no more runs')
  expect(await worker.terminate()).toEqual({ code: 0, signal: null })
  expect(await client.get(started)).toMatchObject({ state: 'waiting', attempt: 1 })
})
