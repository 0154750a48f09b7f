import { expect, test } from 'vitest'
import { defineWorkflow, RunFailedError } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { makeDue, quickTimings, reached } from './record.ts'

const database = useDatabase()

function defineThrowing(name: string, options: { maxAttempts?: number; retry?: object } = {}) {
  return defineWorkflow({
    name,
    ...options,
    handler: (_, run) => {
      throw new Error(`not at attempt ${run.attempt}`)
    },
  })
}

test('TRY-03: by default a throw retries after 1, 2, 4 … s, each within 10 %, and the tenth attempt is the last', async () => {
  const throwing = defineThrowing('by-default')
  const client = openClient(database)
  await startWorker(database, { workflows: [throwing], timings: quickTimings })
  const run = await client.start(throwing)

  const shares: number[] = []
  for (let attempt = 1; attempt <= 9; attempt++) {
    const { waitMs } = await reached(database, run, { state: 'scheduled', attempt })
    shares.push(Number(waitMs) / (1_000 * 2 ** (attempt - 1)))
    await makeDue(database, run)
  }
  for (const share of shares) expect(Math.abs(share - 1)).toBeLessThanOrEqual(0.1001)
  // Waits of equal share would bring runs that failed together back together.
  expect(new Set(shares.map((share) => share.toFixed(4))).size).toBeGreaterThan(1)

  const failure = await client.result(run).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(RunFailedError)
  expect(failure).toMatchObject({ failure: 'attempts_exhausted', cause: { message: 'not at attempt 10' } })
  expect(await client.get(run)).toMatchObject({ state: 'failed', attempt: 10 })
})

test('TRY-03: however many attempts there were, the wait is 1 h at most, within 10 %', async () => {
  const throwing = defineThrowing('many-attempts', { maxAttempts: 100 })
  const client = openClient(database)
  await startWorker(database, { workflows: [throwing], timings: quickTimings })
  const run = await client.start(throwing)
  await reached(database, run, { state: 'scheduled', attempt: 1 })
  for (const attempt of [12, 13, 40, 98]) {
    await database.query('update holdfast.runs set attempt = $2 where id = $1', [run.id, attempt])
    await makeDue(database, run)
    const { waitMs } = await reached(database, run, { state: 'scheduled', attempt: attempt + 1 })
    expect(Math.abs(Number(waitMs) / 3_600_000 - 1)).toBeLessThanOrEqual(0.1001)
  }
})

test('TRY-03: a policy of its own is followed to the millisecond where it has no jitter', async () => {
  const throwing = defineThrowing('own-policy', { retry: { initial: '90s', factor: 3, max: '10m', jitter: 0 } })
  const client = openClient(database)
  await startWorker(database, { workflows: [throwing], timings: quickTimings })
  const run = await client.start(throwing)
  const waits: unknown[] = []
  for (let attempt = 1; attempt <= 4; attempt++) {
    waits.push((await reached(database, run, { state: 'scheduled', attempt })).waitMs)
    await makeDue(database, run)
  }
  expect(waits).toEqual([90_000, 270_000, 600_000, 600_000])
})
