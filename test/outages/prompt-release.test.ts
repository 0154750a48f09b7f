import { expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient } from '../support/worker.ts'
import { neverEnds } from './working-workflows.ts'

const database = useDatabase()
const module = new URL('working-workflows.ts', import.meta.url)

test('OPS-02: on SIGTERM a step longer than the grace is released, and another worker goes on with the attempt', async () => {
  const client = openClient(database)
  const first = await forkWorker(database, { module, graceMs: 1_000 })
  const { id } = await client.start(neverEnds)
  await first.hear('entered', id)
  const second = await forkWorker(database, { module })
  expect(await first.terminate()).toEqual({ code: 0, signal: null })
  expect(await second.hear('entered', id)).toMatchObject({ attempt: 1 })
  const { rows } = await database.query(
    `select c.outcome, c.attempt, r.attempt as now
     from holdfast.claims c join holdfast.runs r on r.id = c.run_id where r.id = $1`,
    [id],
  )
  expect(rows).toEqual([{ outcome: 'released', attempt: 1, now: 1 }])
})
