import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

test('an answer to a run that is parked at several steps is refused until it says which', async () => {
  const schema = z.boolean()
  const both = defineWorkflow({
    name: 'both',
    handler: async (_, run) =>
      await Promise.all(['pay', 'ship'].map((name) => run.park(name, { reason: `May we ${name}?`, schema }))),
  })
  await startWorker(database, { workflows: [both] })
  const client = openClient(database)
  const started = await client.start(both)
  for await (const { state } of client.watch(started)) if (state === 'suspended') break
  await expect(client.unpark(started, true)).rejects.toMatchObject({
    code: 'ARGUMENT',
    field: 'step',
    message: `Run ${started.id} is parked at pay and ship. Say which: { step }.`,
  })
  await client.unpark(started, true, { step: 'pay' })
  await client.unpark(started, false, { step: 'ship' })
  expect(await client.result(started)).toEqual([true, false])
})
