import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { openClient } from '../support/worker.ts'
import { claimsOf, makeDue, reached } from './record.ts'
import { places, things, throwing } from './throwing.ts'

const database = useDatabase()
const cases = Object.entries(things).flatMap(([what, { says }]) => places.map((where) => ({ what, where, says })))

let worker: ChildProcess

beforeAll(async () => {
  await database.query('create table written (run_id uuid primary key)')
  worker = fork(fileURLToPath(new URL('throwing-worker.ts', import.meta.url)), [database.connectionString], {
    execArgv: ['--import', 'jiti/register'],
  })
  await once(worker, 'message')
})

afterAll(() => void worker.kill('SIGKILL'))

test.each(places)('TRY-07: whatever is thrown in a %s retries, is stored readable and bounded, and ends no process', async (place) => {
  const client = openClient(database)
  const runs = await Promise.all(
    cases
      .filter(({ where }) => where === place)
      .map(async ({ what, where, says }) => ({ what, says, run: await client.start(throwing, { what, where }) })),
  )
  for (const { what, says, run } of runs) {
    const { error, waitMs } = await reached(database, run, { state: 'scheduled', attempt: 1 })
    expect(waitMs).toBe(3_600_000)
    expect(error, what).toMatchObject({ name: expect.stringMatching(/./) as string })
    expect(error?.message, what).toContain(says)
    expect(Buffer.byteLength(JSON.stringify(error)), what).toBeLessThan(32 * 1024)
    expect((await client.get(run))?.lastError, what).toBeInstanceOf(Error)
  }
  for (const { run } of runs) await makeDue(database, run)
  for (const { what, run } of runs) {
    expect(await client.result(run), what).toBe('went on')
    expect((await claimsOf(database, run)).map(({ outcome }) => outcome)).toEqual(['retry', 'done'])
  }
  expect(worker).toMatchObject({ exitCode: null, signalCode: null })
})
