import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, TimeoutError, type Run } from '../../src/index.ts'
import { claimByHand, outcomes } from '../support/claim-by-hand.ts'
import { variant } from '../support/variant.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { claimsOf, makeDue, passDeadline, patiently, quickTimings, reached, recordOf } from './record.ts'

const database = useDatabase()

/** Blocks the event loop, as a long computation does. */
function compute(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const never = (): Promise<never> => new Promise(() => undefined)

test('TRY-09: past its timeout a claim has its signal aborted and its attempt failed, counted', async () => {
  const reasons: unknown[] = []
  const slow = defineWorkflow({
    name: 'slow',
    timeout: '200ms',
    maxAttempts: 2,
    handler: async (_, run) => {
      run.abortSignal.addEventListener('abort', () => reasons.push(run.abortSignal.reason))
      await never()
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [slow], timings: quickTimings })
  const run = await client.start(slow)
  expect(await reached(database, run, { state: 'scheduled' })).toMatchObject({
    attempt: 1,
    error: { name: 'TimeoutError', code: 'TIMEOUT', message: expect.stringContaining('200ms') as string },
  })
  expect(reasons).toEqual([expect.any(TimeoutError)])

  await makeDue(database, run)
  await expect(client.result(run)).rejects.toMatchObject({ failure: 'timeout', cause: { code: 'TIMEOUT' } })
  expect(await recordOf(database, run)).toMatchObject({ attempt: 2, failure: 'timeout' })
  const [first] = await claimsOf(database, run)
  expect(Number(first?.ended_at) - Number(first?.began_at)).toBeGreaterThanOrEqual(200)
})

test('TRY-09: a handler that ignores the signal settles nothing later, and its calls on run are refused', async () => {
  const goOn = signal()
  const late = signal<unknown>()
  let bodies = 0
  const deaf = defineWorkflow({
    name: 'deaf',
    timeout: '200ms',
    retry: { initial: 0 },
    handler: async (_, run) => {
      if (run.attempt === 2) return 'the second attempt'
      await goOn.promise
      late.give(await run.step('late', () => ++bodies).catch((error: unknown) => error))
      return 'the first attempt'
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [deaf], timings: quickTimings })
  const run = await client.start(deaf)
  expect(await client.result(run)).toBe('the second attempt')
  goOn.give()
  expect(await late.promise).toBeInstanceOf(TimeoutError)
  expect(bodies).toBe(0)
  expect((await client.get(run))?.output).toBe('the second attempt')
  expect((await claimsOf(database, run)).map(({ outcome }) => outcome)).toEqual(['retry', 'done'])
})

test('TRY-09: a handler that blocks the event loop past its timeout has failed its attempt, whatever it returns', async () => {
  const busy = defineWorkflow({
    name: 'busy',
    timeout: '100ms',
    handler: (_, run) => {
      if (run.attempt === 1) compute(150)
      return run.attempt
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [busy], timings: quickTimings })
  const run = await client.start(busy)
  expect(await reached(database, run, { state: 'scheduled' })).toMatchObject({ error: { code: 'TIMEOUT' } })
  await makeDue(database, run)
  expect(await client.result(run)).toBe(2)
})

test.each<[string, () => unknown]>([
  ['goes on for ever', () => never()],
  ['blocks the event loop', () => compute(variant.isSilent ? 1_800 : 800)],
])('TRY-09: past its deadline a run fails, also while its handler %s', async (how, work) => {
  let isAborted = false
  const late = defineWorkflow({
    name: `late ${how}`,
    // Without NOTIFY it waits for the next poll first.
    deadline: variant.isSilent ? '1.7s' : '700ms',
    handler: async (_, run) => {
      run.abortSignal.addEventListener('abort', () => (isAborted = true))
      await work()
      return 'done after all'
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [late], timings: quickTimings })
  const run = await client.start(late)
  await expect(client.result(run)).rejects.toMatchObject({ failure: 'deadline' })
  expect(await client.get(run)).toMatchObject({ state: 'failed', attempt: 1, output: undefined })
  expect(isAborted).toBe(true)
})

test.each(Object.values(outcomes).map((outcome) => [outcome.kind, outcome] as const))(
  'TRY-09: a claim that ends as %s after the deadline ends a failed run, also when it says so twice',
  async (kind, outcome) => {
    const late = defineWorkflow({ name: `late ${kind}`, deadline: '1h', handler: never })
    const client = openClient(database)
    const run = await client.start(late)
    const claim = await claimByHand(database, run.id)
    await passDeadline(database, run)
    expect(await claim.settle(outcome)).toBeUndefined()
    expect(await claim.settle(outcome)).toBeUndefined()
    const failure = kind === 'failed' ? 'rejected' : 'deadline'
    expect(await client.get(run)).toMatchObject({ state: 'failed', attempt: 1, failure, output: undefined })
    await expect(client.result(run)).rejects.toMatchObject({ failure })
  },
)

test('TRY-09: past its deadline a run fails where it waits, with no worker that knows its workflow', async () => {
  const unknown = defineWorkflow({ name: 'unknown', deadline: '100ms', handler: never })
  const known = defineWorkflow({ name: 'known', handler: never })
  const client = openClient(database)
  const waiting = await client.start(unknown)
  const later = await client.start(unknown, undefined, { delay: '200ms' })
  await startWorker(database, { workflows: [known], timings: quickTimings })
  for (const run of [waiting, later]) {
    await expect(client.result(run)).rejects.toMatchObject({ failure: 'deadline' })
    expect(await client.get(run)).toMatchObject({ attempt: 0 })
  }
  const { rows } = await database.query<{ stayed: number }>(
    `select extract(epoch from ended_at - created_at)::double precision * 1000 as stayed from holdfast.runs
     where id = any($1) order by due_at`,
    [[waiting.id, later.id]],
  )
  expect(rows[0]?.stayed).toBeGreaterThanOrEqual(100)
  // The time before it was due does not count.
  expect(rows[1]?.stayed).toBeGreaterThanOrEqual(300)
})

const ways: Readonly<Record<string, (run: Run) => unknown>> = {
  'asked to be retried': (run) => run.retry('1h'),
  'was snoozed': (run) => run.snooze('1h'),
  threw: () => Promise.reject(new Error('once')),
  'waits for another try of a step': (run) =>
    run.step('try', () => Promise.reject(new Error('once')), { retry: { initial: '1h' } }),
}

test('TRY-09: past its deadline a run fails that waits to go on, whatever it waits for', async () => {
  const late = defineWorkflow({
    name: 'late',
    input: z.string(),
    deadline: '2h',
    retry: { initial: '1h' },
    handler: (way, run) => ways[way]?.(run),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [late], timings: quickTimings })
  for (const way of Object.keys(ways)) {
    const run = await client.start(late, way)
    const { state } = await vi.waitFor(async () => {
      const record = await recordOf(database, run)
      expect(['scheduled', 'suspended']).toContain(record.state)
      return record
    }, patiently)
    await passDeadline(database, run)
    const record = await reached(database, run, { state: 'failed' })
    expect({ way, before: state, ...record }).toMatchObject({
      way,
      before: way.startsWith('waits') ? 'suspended' : 'scheduled',
      attempt: 1,
      failure: 'deadline',
    })
  }
})
