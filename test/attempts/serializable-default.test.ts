import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const workerCount = 8
const runCount = 200

beforeAll(async () => {
  await database.query(
    `create table counters (id integer primary key, count integer not null);
     insert into counters select id, 0 from generate_series(0, 3) id;
     alter database ${database.name} set default_transaction_isolation to 'serializable'`,
  )
})

const isShort = isPointless('statement-timeout', 'its transactions wait for one another, and for longer than that')

test.skipIf(isShort)('where serializable is the default, eight workers on the same rows fail no attempt', async () => {
  const counting = defineWorkflow({
    name: 'counting',
    input: z.int(),
    handler: async (number, run) => {
      const [a, b] = await Promise.all([run.step('a', () => number), run.step('b', () => 1)])
      await run.transaction('count', async (tx) => {
        await tx.query('update public.counters set count = count + $2 where id = $1', [number % 4, b])
      })
      return a
    },
  })
  const client = openClient(database)
  for (let count = 0; count < workerCount; count++) {
    await startWorker(database, { workflows: [counting], concurrency: 8, poolSize: 4 })
  }
  const numbers = Array.from({ length: runCount }, (_, number) => number)
  const runs = await Promise.all(numbers.map((number) => client.start(counting, number)))
  expect(await Promise.all(runs.map((run) => client.result(run)))).toEqual(numbers)

  const runsNow = await database.query(
    'select state, attempt, token, count(*)::integer as count from holdfast.runs group by state, attempt, token',
  )
  expect(runsNow.rows).toEqual([{ state: 'done', attempt: 1, token: 2, count: runCount }])
  const counted = await database.query('select sum(count)::integer as sum from counters')
  expect(counted.rows).toEqual([{ sum: runCount }])
})
