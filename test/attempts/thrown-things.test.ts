import { expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient } from '../support/worker.ts'
import { claimsOf, makeDue, reached } from './record.ts'
import { places, things, throwing } from './throwing.ts'

const database = useDatabase()

test('TRY-07: whatever a handler, step or transaction throws retries, is stored readable and bounded, and ends no process', async () => {
  await database.query('create table written (run_id uuid primary key)')
  const worker = await forkWorker(database, { module: new URL('throwing.ts', import.meta.url) })
  const client = openClient(database)
  const cases = Object.entries(things).flatMap(([what, { says }]) => places.map((where) => ({ what, where, says })))
  const runs = await Promise.all(
    cases.map(async ({ what, where, says }) => {
      const run = await client.start(throwing, { what, where })
      return { run, says, title: `${what} in a ${where}` }
    }),
  )

  for (const { run, says, title } of runs) {
    const { error, waitMs } = await reached(database, run, { state: 'scheduled', attempt: 1 })
    expect({ title, waitMs, error }).toMatchObject({
      title,
      waitMs: 3_600_000,
      error: { name: expect.stringMatching(/./) as string, message: expect.stringContaining(says) as string },
    })
    expect(Buffer.byteLength(JSON.stringify({ title, error }))).toBeLessThan(32 * 1024)
    expect((await client.get(run))?.lastError).toBeInstanceOf(Error)
  }
  // What a transaction wrote before it threw is undone.
  expect((await database.query('select * from written')).rows).toEqual([])

  for (const { run } of runs) await makeDue(database, run)
  for (const { run, title } of runs) {
    const output = await client.result(run)
    const outcomes = (await claimsOf(database, run)).map(({ outcome }) => outcome)
    expect({ title, output, outcomes }).toEqual({ title, output: 'went on', outcomes: ['retry', 'done'] })
  }
  expect(worker.isAlive).toBe(true)
})
