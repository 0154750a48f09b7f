import { expect, test } from 'vitest'
import { defineWorkflow, type Run, type RunRef } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { DrivenRun } from './driven-run.ts'

/** What is kept of a step's failure, and when. */

const database = useDatabase()

const retry = { initial: 0 } as const

/** A body that fails the first time it is called for a run, and then answers how often it was. */
function failingOnce(): (run: Run) => number {
  const counts = new Map<string, number>()
  return (run) => {
    const count = (counts.get(run.id) ?? 0) + 1
    counts.set(run.id, count)
    if (count === 1) throw new Error('the first time')
    return count
  }
}

async function memosOf({ id }: RunRef): Promise<{ key: string; kind: string }[]> {
  const { rows } = await database.query<{ key: string; kind: string }>(
    'select key, kind from holdfast.steps where run_id = $1 order by seq',
    [id],
  )
  return rows
}

test('STEP-06: a process that dies in the next body does not change the branch, nor does any later replay', async () => {
  const body = failingOnce()
  const branches: string[] = []
  const workflow = defineWorkflow({
    name: 'same branch',
    maxAttempts: 10,
    retry,
    handler: async (_, run) => {
      const charged = await run
        .step('charge', () => body(run))
        .then(
          () => 'charged',
          (error: unknown) => (error as Error).message,
        )
      branches.push(charged)
      const next = await run.step(charged === 'charged' ? 'send' : 'ask', () => charged)
      if (run.attempt < 4) throw new Error('once more')
      return [charged, next]
    },
  })
  const run = await DrivenRun.start(database, workflow)
  // The first memo is the failure, the second the next step's.
  const { outcome } = await run.toEnd(workflow, [
    { memo: 2, when: 'before' },
    { memo: 1, when: 'after' },
  ])
  expect(outcome).toMatchObject({ kind: 'done', output: { json: '["the first time","the first time"]' } })
  expect(new Set(branches)).toEqual(new Set(['the first time']))
  expect(branches).toHaveLength(4)
})

test('STEP-06: failures that Promise.allSettled took are thrown again on every replay', async () => {
  const bodies = [failingOnce(), failingOnce(), failingOnce()]
  const seen: unknown[] = []
  const workflow = defineWorkflow({
    name: 'all settled',
    retry,
    handler: async (_, run) => {
      const settled = await Promise.allSettled(bodies.map((body) => run.step('item', () => body(run))))
      seen.push(settled.map(({ status }) => status))
      const next = await run.step('next', () => 'next')
      if (run.attempt < 3) throw new Error('once more')
      return next
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  await client.result(await client.start(workflow))
  expect(seen).toEqual(Array.from({ length: 3 }, () => ['rejected', 'rejected', 'rejected']))
})

test('STEP-06: the end of the run keeps the failures that its handler went past last', async () => {
  const body = failingOnce()
  const workflow = defineWorkflow({
    name: 'ends past it',
    handler: (_, run) => run.step('fails', () => body(run)).catch(() => 'went past'),
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  expect(await client.result(run)).toBe('went past')
  expect(await memosOf(run)).toEqual([{ key: 'fails', kind: 'failure' }])
})

test('STEP-06: a suspension keeps them too', async () => {
  const bodies = [failingOnce(), failingOnce()] as const
  const seen: unknown[] = []
  const workflow = defineWorkflow({
    name: 'suspended past it',
    handler: async (_, run) => {
      const patient = run.step('patient', () => bodies[0](run), { retry: { initial: '1h', max: '1h' } })
      seen.push(await run.step('fails', () => bodies[1](run)).catch((error: unknown) => (error as Error).message))
      return await patient
    },
  })
  const run = await DrivenRun.start(database, workflow)
  expect((await run.claim(workflow))?.outcome.kind).toBe('suspended')
  expect(await memosOf(run)).toEqual([{ key: 'fails', kind: 'failure' }])
  expect((await run.claim(workflow))?.outcome).toMatchObject({ kind: 'done', output: { json: '2' } })
  expect(seen).toEqual(['the first time', 'the first time'])
})

test('STEP-06: a further try of a step called for before a failure does not keep that failure', async () => {
  const body = failingOnce()
  const failing = failingOnce()
  let bodies = 0
  const workflow = defineWorkflow({
    name: 'not gone past',
    retry,
    handler: async (_, run) => {
      const patient = run.step('patient', () => body(run), { retry: { initial: 50 } })
      const failed = await run
        .step('fails', () => {
          bodies += 1
          return failing(run)
        })
        .catch((error: unknown) => error)
      await patient
      if (failed instanceof Error) throw failed
      return failed
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  expect(await client.result(await client.start(workflow))).toBe(2)
  expect(bodies).toBe(2)
})

test("STEP-06: a step's own tries spend no attempt, and are on record with its answer", async () => {
  const tries: number[] = []
  const workflow = defineWorkflow({
    name: 'tries again',
    maxAttempts: 1,
    handler: (_, run) =>
      run.step(
        'step',
        (step) => {
          tries.push(step.try)
          if (step.try < 4) throw new Error('not yet')
          return run.attempt
        },
        { retry: { initial: 1, maxTries: 4 } },
      ),
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  expect(await client.result(run)).toBe(1)
  expect(tries).toEqual([1, 2, 3, 4])
  const { rows } = await database.query('select tries from holdfast.steps where run_id = $1', [run.id])
  expect(rows).toEqual([{ tries: 4 }])
})
