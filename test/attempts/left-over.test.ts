import { expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient } from '../support/worker.ts'
import { lingering } from './left-over-workflows.ts'
import { reached } from './record.ts'

const database = useDatabase()

test('the time limit of a step that never ends does not keep the process of a stopped worker alive', async () => {
  const module = new URL('left-over-workflows.ts', import.meta.url)
  const worker = await forkWorker(database, { module, graceMs: 50 })
  const run = await openClient(database).start(lingering)
  await worker.hear('entered', run.id)
  expect(await worker.terminate()).toEqual({ code: 0, signal: null })
  await reached(database, run, { state: 'waiting', attempt: 1 })
})
