import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const double = defineWorkflow({
  name: 'double',
  input: z.object({ n: z.number() }),
  handler: ({ n }) => n * 2,
})

test('RUN-01: a run started with no worker about is there, and runs when a worker comes', async () => {
  const client = openClient(database)
  const started = await client.start(double, { n: 21 })
  expect(await client.get(started)).toMatchObject({ state: 'waiting', attempt: 0 })
  await startWorker(database, { workflows: [double] })
  expect(await client.result(started)).toBe(42)
})
