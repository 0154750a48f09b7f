import pg from 'pg'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { openClient, recordingLogger, startWorker } from '../support/worker.ts'

const database = useDatabase()

const stepping = defineWorkflow({
  name: 'stepping',
  input: z.number(),
  handler: async (n, run) => {
    const first = await run.step('first', () => n)
    const second = await run.transaction('second', async (tx) => {
      await tx.query('select 1')
      return first + 1
    })
    run.progress(second)
    return second
  },
})

/** What became of all runs. */
async function outcomes(): Promise<unknown> {
  const { rows } = await database.query(
    `select state, attempt, output::text::int = input::text::int + 1 as is_right, count(*)::int
     from holdfast.runs group by 1, 2, 3`,
  )
  return rows
}

test('OPS-05: while functions are replaced as a set, twenty times, no start fails and no run is lost', async () => {
  const logger = recordingLogger()
  await startWorker(database, { workflows: [stepping], logger })
  const client = openClient(database)
  let isOver = false
  let started = 0
  const start = async (): Promise<void> => {
    while (!isOver) await client.start(stepping, (started += 1))
  }
  const startInside = async (): Promise<void> => {
    const tx = new pg.Client({ connectionString: database.connectionString })
    tx.on('error', () => undefined)
    await tx.connect()
    while (!isOver) {
      await tx.query('begin')
      await client.start(stepping, (started += 1), { tx })
      await tx.query('commit')
    }
    await tx.end()
  }
  const starting = Promise.all([start(), startInside()])
  starting.catch(() => undefined)
  try {
    for (let time = 0; time < 20; time += 1) {
      const before = started
      await database.query(`update holdfast.function_sets set checksum = 'that of another release'`)
      await migrateDatabase(database.connectionString)
      await expect.poll(() => started).toBeGreaterThan(before + 5)
    }
  } finally {
    isOver = true
  }
  await starting
  await expect
    .poll(outcomes, { timeout: 60_000 })
    .toEqual([{ state: 'done', attempt: 1, is_right: true, count: started }])
  expect(logger.lines.filter(({ level }) => level === 'error')).toEqual([])
}, 180_000)
