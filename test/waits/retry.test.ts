import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { becomes, letPass } from '../support/waiting.ts'
import { openClient, startWorker } from '../support/worker.ts'

/** What `client.retry` makes of a run's waits. */

const database = useDatabase()

test('RUN-14: after a retry a wait has its whole time again, be it that it had timed out or that it was open', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({
    name: 'waits an hour each',
    handler: async (_, run) => {
      const first = await run.waitFor('first', { timeout: '1h' }).catch(() => 'late')
      const second = run.waitFor('second', { timeout: '1h' }).catch(() => 'late')
      if (first === 'late') {
        await run.sleep('nap', 10)
        return run.fail('too late')
      }
      return [first, await second]
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const started = await client.start(workflow)
  await becomes(client, started, 'suspended')
  await letPass(database, started.id, '1 hour')
  await expect(client.result(started)).rejects.toThrow('too late')
  await letPass(database, started.id, '1 day')
  await client.retry(started)
  await becomes(client, started, 'suspended')
  await client.signal(started, 'first', 1)
  await client.signal(started, 'second', 2)
  expect(await client.result(started)).toEqual([1, 2])
})

test('RUN-14: a sleep that a cancel ended counts on from its first call', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({ name: 'sleeps an hour', handler: (_, run) => run.sleep('hour', '1h') })
  await startWorker(database, { workflows: [workflow] })
  const started = await client.start(workflow)
  await becomes(client, started, 'suspended')
  await client.cancel(started)
  await letPass(database, started.id, '1 hour')
  await client.retry(started)
  expect(await client.result(started)).toBeUndefined()
})

test('RUN-14: signals that a run has received stay received, unless it is retried afresh and asks for others', async () => {
  const client = openClient(database)
  let isWell = false
  const workflow = defineWorkflow({
    name: 'receives',
    handler: async (_, run) => {
      const word = await run.waitFor('word')
      return isWell ? word : run.fail('not well')
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const started = await client.start(workflow)
  await client.signal(started, 'word', 'first')
  await expect(client.result(started)).rejects.toThrow('not well')
  isWell = true
  await client.retry(started)
  expect(await client.result(started)).toBe('first')
})
