import { expect, test } from 'vitest'
import { defineWorkflow, type Run, type Step } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { claimsOf, makeDue, quickTimings, reached, triesOf } from './record.ts'

const database = useDatabase()

const long = { retry: { initial: '20s', jitter: 0, maxTries: 3 } } as const

/** Fails until the given try, and notes each. */
function until(last: number, tries: number[]): (step: Step) => number {
  return (step) => {
    tries.push(step.try)
    if (step.try < last) throw new Error(`try ${step.try}`)
    return step.try
  }
}

test('STEP-06: a step that waits over 10 s for its next try has its run suspended, and spends no attempt', async () => {
  const tries: number[] = []
  let first = 0
  const suspending = defineWorkflow({
    name: 'suspending',
    maxAttempts: 1,
    handler: async (_, run) => {
      await run.step('first', () => ++first)
      return [run.attempt, await run.step('look', until(3, tries), long)]
    },
  })
  const other = defineWorkflow({ name: 'other', handler: () => 'ran' })
  const client = openClient(database)
  await startWorker(database, { workflows: [suspending, other], concurrency: 1, timings: quickTimings })
  const run = await client.start(suspending)

  // It sleeps without a slot, and what is known of the step is on record.
  const { waitMs } = await reached(database, run, { state: 'suspended', attempt: 1 })
  expect(waitMs).toBeGreaterThan(10_000)
  expect(waitMs).toBeLessThanOrEqual(20_000)
  expect(await client.result(await client.start(other))).toBe('ran')
  expect(await triesOf(database, run)).toMatchObject([
    { key: 'look', attempt: 1, tries: 1, error: { message: 'try 1' } },
  ])
  expect(await client.get(run)).toMatchObject({ state: 'suspended' })

  await makeDue(database, run)
  expect((await reached(database, run, { state: 'suspended', token: 4 })).waitMs).toBeGreaterThan(20_000)
  await makeDue(database, run)
  expect(await client.result(run)).toEqual([1, 3])
  expect({ tries, first }).toEqual({ tries: [1, 2, 3], first: 1 })
  expect((await claimsOf(database, run)).map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
    ['suspended', 1],
    ['suspended', 1],
    ['done', 1],
  ])
})

test('STEP-06: tries before and after a suspension count together towards maxTries', async () => {
  const tries: number[] = []
  const failing = defineWorkflow({
    name: 'failing',
    maxAttempts: 1,
    handler: (_, run) => run.step('look', until(Infinity, tries), long),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [failing], timings: quickTimings })
  const run = await client.start(failing)
  for (const token of [2, 4]) {
    await reached(database, run, { state: 'suspended', token })
    await makeDue(database, run)
  }
  await expect(client.result(run)).rejects.toMatchObject({
    failure: 'attempts_exhausted',
    cause: { message: 'try 3' },
  })
  expect(tries).toEqual([1, 2, 3])
})

test('a step is not tried before its time, though its run goes on for another', async () => {
  const soon: number[] = []
  const late: number[] = []
  const waiting = defineWorkflow({
    name: 'waiting',
    handler: (_, run) =>
      Promise.all([
        run.step('soon', until(2, soon), long),
        run.step('late', until(2, late), { retry: { initial: '1h', jitter: 0 } }),
      ]),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [waiting], timings: quickTimings })
  const run = await client.start(waiting)
  expect((await reached(database, run, { state: 'suspended', token: 2 })).waitMs).toBeLessThanOrEqual(20_000)
  await makeDue(database, run, 'soon')

  const { waitMs } = await reached(database, run, { state: 'suspended', token: 4 })
  expect(waitMs).toBeGreaterThan(3_000_000)
  expect(waitMs).toBeLessThanOrEqual(3_600_000)
  expect({ soon, late }).toEqual({ soon: [1, 2], late: [1] })
  await makeDue(database, run)
  expect(await client.result(run)).toEqual([2, 2])
  expect({ soon, late }).toEqual({ soon: [1, 2], late: [1, 2] })
})

test('a wait for the next try counts from the try that failed, however long the run was busy beside it', async () => {
  const failed = signal()
  const goOn = signal()
  const busy = defineWorkflow({
    name: 'busy',
    handler: (_, run) =>
      Promise.all([
        run.step(
          'look',
          () => {
            failed.give()
            throw new Error('busy')
          },
          long,
        ),
        run.step('beside', () => goOn.promise),
      ]),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [busy], timings: quickTimings })
  const run = await client.start(busy)
  await failed.promise
  await database.query('select pg_sleep(0.5)')
  goOn.give()
  expect((await reached(database, run, { state: 'suspended' })).waitMs).toBeLessThan(19_600)
  const { rows } = await database.query<{ later: number }>(
    `select extract(epoch from t.retry_at - r.due_at)::double precision * 1000 as later
     from holdfast.runs r join holdfast.tries t on t.run_id = r.id where r.id = $1 and t.key = 'look'`,
    [run.id],
  )
  // Counted from the end of the claim it would be half a second later.
  expect(Math.abs(rows[0]?.later ?? Infinity)).toBeLessThan(400)
})

test('STEP-06: a failure the handler went past while another step waits suspended is kept, and thrown again', async () => {
  let bodies = 0
  const tries: number[] = []
  const seen: string[] = []
  const handler = async (_: undefined, run: Run): Promise<unknown> => {
    const charge = run.step('charge', () => {
      bodies++
      if (bodies === 1) throw new Error('declined')
      return 'charged'
    })
    const [looked, charged] = await Promise.all([
      run.step('look', until(2, tries), long),
      charge.catch((error: Error) => error.message),
    ])
    seen.push(charged)
    return { looked, charged }
  }
  const beside = defineWorkflow({ name: 'beside', handler })
  const client = openClient(database)
  await startWorker(database, { workflows: [beside], timings: quickTimings })
  const run = await client.start(beside)
  await reached(database, run, { state: 'suspended' })
  await makeDue(database, run)
  expect(await client.result(run)).toEqual({ looked: 2, charged: 'declined' })
  expect(bodies).toBe(1)
})
