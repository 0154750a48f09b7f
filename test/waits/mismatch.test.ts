import { expect, test } from 'vitest'
import { defineWorkflow, type Workflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { becomes, letPass } from '../support/waiting.ts'
import { openClient, recordingLogger, startWorker } from '../support/worker.ts'

const database = useDatabase()

function release(name: string, first: string, onMismatch: 'warn' | 'park' | 'fail'): Workflow {
  return defineWorkflow({
    name,
    onMismatch,
    handler: async (_, run) => {
      await run.step(first, () => first)
      await run.sleep('night', '1h')
      return await run.step('last', () => first)
    },
  })
}

test("I1: under onMismatch: 'park' a run that a release broke waits, and goes on under one that mends it", async () => {
  const client = openClient(database)
  const good = release('deployed', 'greet', 'park')
  const old = await startWorker(database, { workflows: [good] })
  const started = await client.start(good)
  await becomes(client, started, 'suspended')
  await old.stop()
  const bad = await startWorker(database, { workflows: [release('deployed', 'renamed', 'park')] })
  await letPass(database, started.id, '1 hour')
  await expect
    .poll(() => client.parked())
    .toMatchObject([{ run: started.id, step: '[mismatch]1', reason: expect.stringContaining('renamed') as string }])
  // Answered too early it parks again, under a name of its own.
  await client.unpark(started, 'go on')
  await expect.poll(() => client.parked()).toMatchObject([{ run: started.id, step: '[mismatch]2' }])
  await bad.stop()
  await startWorker(database, { workflows: [good] })
  await client.unpark(started, 'mended')
  expect(await client.result(started)).toBe('greet')
  expect(await client.get(started)).toMatchObject({ attempt: 1 })
})

test.each(['warn', 'fail'] as const)('I1: under onMismatch: %j the run goes on or fails, and says why', async (how) => {
  const client = openClient(database)
  const logger = recordingLogger()
  const good = release(`told to ${how}`, 'greet', how)
  const old = await startWorker(database, { workflows: [good] })
  const started = await client.start(good)
  await becomes(client, started, 'suspended')
  await old.stop()
  await startWorker(database, { workflows: [release(`told to ${how}`, 'renamed', how)], logger })
  await letPass(database, started.id, '1 hour')
  if (how === 'warn') expect(await client.result(started)).toBe('renamed')
  else await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected', cause: { code: 'MISMATCH' } })
  const told = logger.lines.filter(({ message }) => message.includes('another way than its record'))
  expect(told).toMatchObject([{ level: 'warn', fields: { step: 'renamed' } }])
})
