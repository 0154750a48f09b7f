import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const rounds = 10_000
const atOnce = 500

const asking = defineWorkflow({
  name: 'asking',
  handler: async (_, run) => [await run.waitFor('first'), await run.waitFor('second', { timeout: '1h' })],
})

test('WAIT-02: of 10,000 runs that wait while their signals come, none misses one or gets one twice', async () => {
  await startWorker(database, { workflows: [asking], concurrency: 64 })
  const client = openClient(database)
  for (let begun = 0; begun < rounds; begun += atOnce) {
    const started = await client.startMany(
      asking,
      Array.from({ length: atOnce }, () => ({})),
    )
    // Some come before the run is claimed, some while it suspends, some long after.
    await Promise.all(started.flatMap((run, n) => [client.signal(run, 'first', n), client.signal(run, 'second', -n)]))
  }
  await expect
    .poll(
      async () => {
        const { rows } = await database.query<{ left: number }>(
          `select count(*)::int as left from holdfast.runs where state <> 'done'`,
        )
        return rows[0]?.left
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBe(0)
  const { rows } = await database.query(
    `select
       (select count(*)::int from holdfast.runs) as runs,
       (select count(*)::int from holdfast.runs where (output ->> 0)::int <> -(output ->> 1)::int) as mixed_up,
       (select count(*)::int from holdfast.signals where taken_by is null) as missed`,
  )
  expect(rows).toEqual([{ runs: rounds, mixed_up: 0, missed: 0 }])
}, 120_000)
