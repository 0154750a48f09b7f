import { expect, test } from 'vitest'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { claimByHand } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { claimsOf, loseWorker, quickTimings, reached, recordOf } from './record.ts'

const database = useDatabase()

const tell = ({ attempt, maxAttempts }: Run): { attempt: number; maxAttempts: number } => ({ attempt, maxAttempts })

test('TRY-01: attempt is 0 before the first claim and 1 in the first handler, which knows maxAttempts', async () => {
  const telling = defineWorkflow({ name: 'telling', maxAttempts: 7, handler: (_, run) => tell(run) })
  const client = openClient(database)
  const own = await client.start(telling)
  const given = await client.start(telling, undefined, { maxAttempts: 3 })
  const clamped = await client.start(telling, undefined, { maxAttempts: 5_000 })
  expect(await client.get(own)).toMatchObject({ attempt: 0, maxAttempts: 7 })

  await startWorker(database, { workflows: [telling] })
  expect(await client.result(own)).toEqual({ attempt: 1, maxAttempts: 7 })
  expect(await client.result(given)).toEqual({ attempt: 1, maxAttempts: 3 })
  expect(await client.result(clamped)).toEqual({ attempt: 1, maxAttempts: 100 })
})

test('TRY-01: the attempt is on record while its handler runs', async () => {
  const begun = signal()
  const goOn = signal()
  const waiting = defineWorkflow({
    name: 'waiting',
    handler: async () => {
      begun.give()
      await goOn.promise
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [waiting] })
  const run = await client.start(waiting)
  await begun.promise
  expect(await recordOf(database, run)).toMatchObject({ state: 'running', attempt: 1 })
  goOn.give()
  await client.result(run)
})

test('TRY-01: an attempt that ended before its handler began was counted at its claim', async () => {
  const telling = defineWorkflow({ name: 'counted', lease: '1.5s', handler: (_, run) => tell(run) })
  const client = openClient(database)
  const run = await client.start(telling)
  // A worker that takes the run and dies before it does anything with it.
  await claimByHand(database, run.id)
  expect(await recordOf(database, run)).toMatchObject({ state: 'running', attempt: 1 })
  await loseWorker(database, run)

  await startWorker(database, { workflows: [telling], timings: quickTimings })
  expect(await client.result(run)).toEqual({ attempt: 2, maxAttempts: 10 })
})

test('TRY-01: each attempt is counted once, and there is none beyond maxAttempts', async () => {
  const seen: number[] = []
  const failing = defineWorkflow({
    name: 'failing',
    maxAttempts: 4,
    retry: { initial: 0 },
    handler: (_, run) => {
      seen.push(run.attempt)
      throw new Error(`attempt ${run.attempt}`)
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [failing], timings: quickTimings })
  const run = await client.start(failing)
  const record = await reached(database, run, { state: 'failed' })
  expect(record).toMatchObject({ attempt: 4, failure: 'attempts_exhausted', error: { message: 'attempt 4' } })
  expect(seen).toEqual([1, 2, 3, 4])
  const claims = await claimsOf(database, run)
  expect(claims.map(({ attempt, outcome, error }) => [attempt, outcome, error?.message])).toEqual([
    [1, 'retry', 'attempt 1'],
    [2, 'retry', 'attempt 2'],
    [3, 'retry', 'attempt 3'],
    [4, 'failed', 'attempt 4'],
  ])
})
