import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { claimsOf, makeDue, quickTimings, reached } from './record.ts'

const database = useDatabase()

test('TRY-05: a run snoozed twenty times keeps its memos and the count of its earlier attempts', async () => {
  const attempts: number[] = []
  let bodies = 0
  const snoozing = defineWorkflow({
    name: 'snoozing',
    maxAttempts: 3,
    retry: { initial: 0 },
    handler: async (_, run) => {
      const first = await run.step('once', () => ++bodies)
      attempts.push(run.attempt)
      if (attempts.length === 1) throw new Error('the first attempt')
      if (attempts.length <= 21) return run.snooze(1, 'not yet')
      if (attempts.length === 22) throw new Error('the second attempt')
      return first
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [snoozing], timings: { ...quickTimings, lookMs: 20 } })
  const run = await client.start(snoozing)
  expect(await client.result(run)).toBe(1)
  expect(bodies).toBe(1)
  expect(attempts).toEqual([1, ...Array.from({ length: 21 }, () => 2), 3])
  const claims = await claimsOf(database, run)
  expect(claims.filter(({ outcome }) => outcome === 'snooze')).toHaveLength(20)
})

test('TRY-05: a snooze on the last attempt spends nothing: a throw after it is what ends the run', async () => {
  let claims = 0
  const snoozing = defineWorkflow({
    name: 'snoozing-last',
    maxAttempts: 1,
    handler: (_, run) => {
      if (++claims <= 3) return run.snooze(0)
      throw new Error('the only attempt')
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [snoozing], timings: quickTimings })
  const run = await client.start(snoozing)
  await expect(client.result(run)).rejects.toMatchObject({
    failure: 'attempts_exhausted',
    cause: { message: 'the only attempt' },
  })
  expect(claims).toBe(4)
  expect(await client.get(run)).toMatchObject({ attempt: 1 })
})

test('TRY-05: a snoozed run is due again after exactly what it asked for, and holds no slot until then', async () => {
  let claims = 0
  const snoozing = defineWorkflow({
    name: 'snoozing-long',
    handler: (_, run) => (++claims === 1 ? run.snooze('1h30m', 'the shop is closed') : run.attempt),
  })
  const other = defineWorkflow({ name: 'other', handler: () => 'ran' })
  const client = openClient(database)
  await startWorker(database, { workflows: [snoozing, other], concurrency: 1, timings: quickTimings })
  const run = await client.start(snoozing)
  const record = await reached(database, run, { state: 'scheduled' })
  expect(record).toMatchObject({ attempt: 1, waitMs: 5_400_000, reason: 'the shop is closed' })
  expect(await client.result(await client.start(other))).toBe('ran')

  await makeDue(database, run)
  expect(await client.result(run)).toBe(1)
})
