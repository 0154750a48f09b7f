import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, type Duration } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { claimsOf, makeDue, quickTimings, reached } from './record.ts'

const database = useDatabase()

test('TRY-04: run.retry(d) has the run due again after exactly that, counted, with its reason', async () => {
  const durations = new Map<Duration, number>([
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    [250_000, 250_000],
  ])
  const again = defineWorkflow({
    name: 'again',
    input: z.union([z.string(), z.number()]),
    handler: (after, run) => (run.attempt === 1 ? run.retry(after, 'the shop is closed') : run.attempt),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [again], timings: quickTimings })
  for (const [after, waitMs] of durations) {
    const run = await client.start(again, after)
    const record = await reached(database, run, { state: 'scheduled', attempt: 1 })
    expect({ after, ...record }).toMatchObject({ after, waitMs, reason: 'the shop is closed', failure: null })
    expect(await client.get(run)).toMatchObject({ reason: 'the shop is closed' })

    await makeDue(database, run)
    expect(await client.result(run)).toBe(2)
    expect((await claimsOf(database, run)).map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ['retry', 1],
      ['done', 2],
    ])
  }
})

test('TRY-04: the time it asked for has passed when the run goes on', async () => {
  const soon = defineWorkflow({
    name: 'soon',
    handler: (_, run) => (run.attempt === 1 ? run.retry('300ms') : run.attempt),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [soon] })
  const run = await client.start(soon)
  expect(await client.result(run)).toBe(2)
  const [, second] = await claimsOf(database, run)
  expect(second?.sinceLastMs).toBeGreaterThanOrEqual(300)
})

test("TRY-04: without a time it waits as a throw would, by the workflow's own policy", async () => {
  const again = defineWorkflow({
    name: 'again-by-policy',
    retry: { initial: '20s', factor: 2, jitter: 0 },
    handler: (_, run) => run.retry(),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [again], timings: quickTimings })
  const run = await client.start(again)
  expect((await reached(database, run, { state: 'scheduled', attempt: 1 })).waitMs).toBe(20_000)
  await makeDue(database, run)
  expect((await reached(database, run, { state: 'scheduled', attempt: 2 })).waitMs).toBe(40_000)
})

test('TRY-04: on the last attempt it fails the run as attempts_exhausted, with its reason', async () => {
  const again = defineWorkflow({
    name: 'again-in-vain',
    maxAttempts: 2,
    handler: (_, run) => run.retry(0, `closed at attempt ${run.attempt}`),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [again], timings: quickTimings })
  const run = await client.start(again)
  await expect(client.result(run)).rejects.toMatchObject({
    failure: 'attempts_exhausted',
    message: expect.stringContaining('closed at attempt 2') as string,
  })
  expect(await client.get(run)).toMatchObject({
    state: 'failed',
    attempt: 2,
    failure: 'attempts_exhausted',
    reason: 'closed at attempt 2',
  })
})
