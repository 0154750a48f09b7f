import { expect, test } from 'vitest'
import type { Workflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient } from '../support/worker.ts'
import { badOutput, brokenOutput, faultNames, faulty, sound } from './faulty-workflows.ts'

const database = useDatabase()

test('OPS-07: no error of a handler, a step or a value ends the process: its run fails and the others go on', async () => {
  const client = openClient(database)
  const worker = await forkWorker(database, { module: new URL('faulty-workflows.ts', import.meta.url) })
  const starts = faultNames.map(async (name) => ({ name, ...(await client.start(faulty, name)) }))
  for (const workflow of [badOutput, brokenOutput] as Workflow<undefined>[]) {
    starts.push(client.start(workflow).then((started) => ({ name: workflow.name, ...started })))
  }
  for (const { name, id } of await Promise.all(starts)) {
    await Promise.race([client.result(id).catch(() => undefined), worker.ended])
    expect({ name, state: (await client.get(id))?.state }).toEqual({ name, state: 'failed' })
  }
  expect(await client.result(await client.start(sound))).toBe('sound')
  expect(await worker.terminate()).toEqual({ code: 0, signal: null })
})
