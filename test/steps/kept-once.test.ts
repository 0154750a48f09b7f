import { beforeAll, expect, test } from 'vitest'
import type { RunRef } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { giveOrder, listen } from '../support/tell.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { bodiesTable, staying } from './counted.ts'

const database = useDatabase()
const { connectionString } = database
const module = new URL('counted.ts', import.meta.url)

beforeAll(async () => void (await database.query(bodiesTable)))

const answersOf = (last: number): string[] => [
  'one of attempt 1',
  'two of attempt 1',
  'two#2 of attempt 1',
  `three of attempt ${last}`,
]

/** Each step's body has run once. */
async function expectOnce(run: RunRef): Promise<void> {
  const { rows } = await database.query(
    'select key, count(*)::int from bodies where run_id = $1 group by key order by key',
    [run.id],
  )
  expect(rows).toEqual(['one', 'three', 'two', 'two#2'].map((key) => ({ key, count: 1 })))
}

test('STEP-01: a kept step is not run again by client.retry after a cancel', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [staying] })
  const [kept, recalled] = [signal(), signal()]
  let claims = 0
  listen(({ word }) => {
    if (word !== 'kept') return
    claims += 1
    if (claims === 1) kept.give()
    else recalled.give()
  })
  const cancelled = await client.start(staying, { connectionString })
  await kept.promise
  await client.cancel(cancelled)
  await client.retry(cancelled)
  // By now the cancelled claim has heard of it: before, it would still run the body of the last step.
  await recalled.promise
  giveOrder(`go on ${cancelled.id}`)
  expect(await client.result(cancelled)).toEqual(answersOf(1))
  await expectOnce(cancelled)
})

test('STEP-01: a kept step is not run again after its worker stopped, or was killed, by a new process', async () => {
  const client = openClient(database)
  const stopped = await startWorker(database, { workflows: [staying] })
  const kept = signal()
  listen(({ word }) => {
    if (word === 'kept') kept.give()
  })
  const run = await client.start(staying, { connectionString })
  await kept.promise
  await stopped.stop({ grace: 0 })

  const killed = await forkWorker(database, { module })
  await killed.hear('kept', run.id)
  await killed.kill()

  const last = await forkWorker(database, { module })
  last.order(`go on ${run.id}`)
  // The stop was not counted; the kill was.
  expect(await client.result(run)).toEqual(answersOf(2))
  await expectOnce(run)
})
