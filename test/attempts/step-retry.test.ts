import { expect, test, vi } from 'vitest'
import { defineWorkflow, NonRetryableError, type Step, type StepRetry } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { HandClock } from '../support/hand-clock.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { claimsOf, patiently, quickTimings, triesOf } from './record.ts'

const database = useDatabase()

/** A body that fails so many times and notes each of its tries. */
function failing(times: number, tries: number[] = []): (step: Step) => number {
  return (step) => {
    tries.push(step.try)
    if (tries.length <= times) throw new Error(`try ${step.try}`)
    return step.try
  }
}

test("STEP-06: a step's own policy tries it again in the same claim and spends no attempt", async () => {
  const tries: number[] = []
  const patient = defineWorkflow({
    name: 'patient',
    handler: async (_, run) => [
      run.attempt,
      await run.step('look', failing(3, tries), { retry: { initial: 1, maxTries: 4 } }),
    ],
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [patient], timings: quickTimings })
  const run = await client.start(patient)
  expect(await client.result(run)).toEqual([1, 4])
  expect(tries).toEqual([1, 2, 3, 4])
  expect(await claimsOf(database, run)).toHaveLength(1)
  const { rows } = await database.query('select key, tries from holdfast.steps where run_id = $1', [run.id])
  expect(rows).toEqual([{ key: 'look', tries: 4 }])
})

test.each<[string, StepRetry | undefined, number]>([
  ['no policy', undefined, 1],
  ['a policy without maxTries', { initial: 0 }, 3],
  ['maxTries', { initial: 0, maxTries: 5 }, 5],
])(
  'STEP-06: with %s its tries end, the attempt is spent, and the next one counts them anew',
  async (how, retry, most) => {
    const tries: number[] = []
    const failed = defineWorkflow({
      name: `failed with ${how}`,
      maxAttempts: 2,
      retry: { initial: 0 },
      handler: (_, run) => run.step('look', failing(Infinity, tries), { retry }),
    })
    const client = openClient(database)
    await startWorker(database, { workflows: [failed], timings: quickTimings })
    const run = await client.start(failed)
    await expect(client.result(run)).rejects.toMatchObject({ cause: { message: `try ${most}` } })
    const series = Array.from({ length: most }, (_, index) => index + 1)
    expect(tries).toEqual([...series, ...series])
    expect(await triesOf(database, run)).toMatchObject([{ key: 'look', attempt: 2, tries: most }])
  },
)

test("STEP-06: an error in the step's own nonRetryable ends its tries and the run", async () => {
  class Gone extends Error {}
  const tries: number[] = []
  const failed = defineWorkflow({
    name: 'gone',
    handler: (_, run) =>
      run.step(
        'look',
        (step) => {
          tries.push(step.try)
          throw step.try === 1 ? new Error('busy') : new Gone('gone')
        },
        { retry: { initial: 0, maxTries: 5, nonRetryable: [Gone] } },
      ),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [failed], timings: quickTimings })
  const run = await client.start(failed)
  await expect(client.result(run)).rejects.toMatchObject({ failure: 'rejected', cause: { message: 'gone' } })
  expect(tries).toEqual([1, 2])
})

test('STEP-06: tries are counted for each step by itself, however many steps of a run fail', async () => {
  const most = 20
  const flaky = defineWorkflow({
    name: 'flaky',
    maxAttempts: 1,
    handler: async (_, run) => {
      for (let count = 0; count < most; count++) {
        await run.step('look', failing(2), { retry: { initial: 0, maxTries: 3 } })
      }
      return run.attempt
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [flaky], timings: quickTimings })
  const run = await client.start(flaky)
  expect(await client.result(run)).toBe(1)
  const { rows } = await database.query<{ tries: number }>('select tries from holdfast.steps where run_id = $1', [
    run.id,
  ])
  expect(rows.map(({ tries }) => tries)).toEqual(Array.from({ length: most }, () => 3))
})

test('a policy that cannot be followed is refused with its option named, before the body runs', async () => {
  const policies: readonly (readonly [string, StepRetry])[] = [
    ['retry.maxTries', { maxTries: 0 }],
    ['retry.maxTries', { maxTries: 1.5 }],
    ['retry.maxTries', { maxTries: 1e6 }],
    ['retry.factor', { factor: 0 }],
    ['retry.jitter', { jitter: 2 }],
    ['retry.max', { initial: '1m', max: '1s' }],
    ['retry.times', { times: 3 } as StepRetry],
  ]
  let bodies = 0
  const refusing = defineWorkflow({
    name: 'refusing',
    maxAttempts: 1,
    handler: async (_, run) => {
      const fields: unknown[] = []
      for (const [, retry] of policies) {
        await run
          .step('look', () => bodies++, { retry })
          .catch((error: { field?: unknown }) => fields.push(error.field))
      }
      return fields
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [refusing], timings: quickTimings })
  expect(await client.result(await client.start(refusing))).toEqual(policies.map(([field]) => field))
  expect(bodies).toBe(0)
})

test('a step waits for its next try in memory up to 10 s', async () => {
  const clock = new HandClock()
  const failed = signal()
  const patient = defineWorkflow({
    name: 'ten-seconds',
    handler: (_, run) =>
      run.step(
        'look',
        (step) => {
          if (step.try > 1) return step.try
          failed.give()
          throw new Error('busy')
        },
        { retry: { initial: '10s', jitter: 0 } },
      ),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [patient], clock })
  const run = await client.start(patient)
  await failed.promise
  await clock.advance(9_999)
  expect(await client.get(run)).toMatchObject({ state: 'running' })
  await clock.advance(1)
  expect(await client.result(run)).toBe(2)
  expect(await claimsOf(database, run)).toHaveLength(1)
})

test('STEP-06: a failure that the handler went past beside a step under retry is final', async () => {
  let bodies = 0
  const beside = defineWorkflow({
    name: 'beside',
    handler: async (_, run) => {
      const [looked, gone] = await Promise.all([
        run.step('look', failing(1), { retry: { initial: 300, jitter: 0 } }),
        run
          .step('charge', () => {
            bodies++
            throw new NonRetryableError('declined')
          })
          .catch((error: Error) => error.message),
      ])
      return { looked, gone, bodies }
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [beside], timings: quickTimings })
  const run = await client.start(beside)
  expect(await client.result(run)).toEqual({ looked: 2, gone: 'declined', bodies: 1 })
})

test('the outcome of one step is not held up by another whose answer could not be kept', async () => {
  // The insert is refused when it commits, after the body has answered; a sequence tells of it all the same.
  await database.query(
    `create table entries (id integer);
     create sequence refusals;
     create function refuse() returns trigger language plpgsql as $$
       begin perform nextval('public.refusals'); raise exception 'refused at commit'; end $$;
     create constraint trigger refuse after insert on entries deferrable initially deferred
       for each row execute function refuse()`,
  )
  const goOn = signal()
  const seen = signal<string>()
  const beside = defineWorkflow({
    name: 'not-held-up',
    handler: async (_, run) => {
      const write = run.transaction(
        'write',
        async (tx, step) => {
          if (step.try === 1) await tx.query('insert into public.entries values (1)')
          return step.try
        },
        { retry: { initial: '2s', jitter: 0 } },
      )
      await run.step('look', () => goOn.promise)
      seen.give('seen')
      return await write
    },
  })
  const clock = new HandClock()
  const client = openClient(database)
  await startWorker(database, { workflows: [beside], clock })
  const run = await client.start(beside)
  await vi.waitFor(async () => {
    expect((await database.query('select is_called from refusals')).rows).toEqual([{ is_called: true }])
  }, patiently)
  goOn.give()
  expect(await seen.promise).toBe('seen')
  expect(await client.get(run)).toMatchObject({ state: 'running' })
  await clock.advance(2_000)
  expect(await client.result(run)).toBe(2)
})
