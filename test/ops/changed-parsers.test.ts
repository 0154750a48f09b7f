import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

/** What applications like to change: numbers, texts of JSON, times. */
const oids = [16, 20, 21, 23, 114, 1184, 3802] as const
const before = oids.map((oid) => pg.types.getTypeParser(oid))

afterAll(() => oids.forEach((oid, index) => pg.types.setTypeParser(oid, before[index] as (text: string) => unknown)))

test('runs are worked in an application that has changed how pg reads every type', async () => {
  for (const oid of oids) pg.types.setTypeParser(oid, (text) => ({ mine: text }))
  const workflow = defineWorkflow({
    name: 'under other parsers',
    input: z.object({ n: z.number() }),
    retry: { initial: 0 },
    handler: async (input, run) => {
      const at = await run.step('look', () => new Date(86_400_000))
      return run.attempt === 1 ? run.retry('1ms') : { input, at, attempt: run.attempt }
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow] })
  const started = await client.start(workflow, { n: 1 })
  expect(await client.result(started)).toEqual({ input: { n: 1 }, at: new Date(86_400_000), attempt: 2 })
  expect(await client.get(started)).toMatchObject({ state: 'done', attempt: 2 })
})
