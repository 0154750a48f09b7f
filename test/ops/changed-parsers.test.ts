import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient, createWorker, defineWorkflow } from '../../src/index.ts'
import { emptyDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'

/** What applications like to change: numbers, texts of JSON, times. */
const oids = [16, 20, 21, 23, 114, 1184, 3802] as const
const before = oids.map((oid) => pg.types.getTypeParser(oid))

afterAll(() => oids.forEach((oid, index) => pg.types.setTypeParser(oid, before[index] as (text: string) => unknown)))

test('every part works in an application that has changed how pg reads every type', async () => {
  for (const oid of oids) pg.types.setTypeParser(oid, (text) => ({ mine: text }))
  const empty = await emptyDatabase()
  const { connectionString } = empty
  const workflow = defineWorkflow({
    name: 'under other parsers',
    retry: { initial: 0 },
    input: z.object({ n: z.number() }),
    handler: async (input, run) => {
      const at = await run.step('look', () => new Date(86_400_000))
      const seen = await run.transaction('ask', async (tx) => (await tx.query('select 1 as one')).rows[0] as object)
      return run.attempt === 1 ? run.retry('1ms') : { input, at, seen, attempt: run.attempt }
    },
  })
  // Both migrate the empty database, or find that it is migrated.
  const client = createClient(optionsFor(empty))
  const started = await client.start(workflow, { n: 1 })
  const worker = createWorker({ ...optionsFor(empty), workflows: [workflow] })
  await worker.start()
  const expected = { at: new Date(86_400_000), seen: { one: { mine: '1' } }, attempt: 2 }
  expect(await client.result(started)).toEqual({ ...expected, input: { n: 1 } })
  expect(await client.get(started)).toMatchObject({ state: 'done', attempt: 2 })

  const tx = new pg.Client({ connectionString })
  await tx.connect()
  await tx.query('begin')
  const inside = await client.start(workflow, { n: 2 }, { tx })
  expect(inside).toMatchObject({ created: true, state: 'waiting' })
  await tx.query('commit')
  await tx.end()
  expect(await client.result(inside)).toEqual({ ...expected, input: { n: 2 } })
  await worker.stop()
  await client.close()
  await empty.drop()
})
