import pg from 'pg'
import { expect, test } from 'vitest'
import { Database, type DatabaseOptions } from '../../src/db/database.ts'
import { defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

/** What a frozen process does: once, a commit after a call of this function is not sent until the test says so. */
class HesitantDatabase extends Database {
  static after = ''
  static reached = signal()
  static go = signal()

  constructor({ clock, schema }: DatabaseOptions) {
    // A caller's pool: there, each call is a transaction of its own.
    const pool = new pg.Pool({ connectionString: database.connectionString, max: 4 })
    super({ clock, schema, pool })
    pool.on('connect', hesitate)
  }

  override async close(): Promise<void> {
    await super.close()
    await this.pool.end()
  }
}

function hesitate(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
  let isNext = false
  client.query = (async (...args: unknown[]) => {
    const text = JSON.stringify(args[0])
    if (isNext && /commit/.test(text)) {
      HesitantDatabase.after = ''
      isNext = false
      HesitantDatabase.reached.give()
      await HesitantDatabase.go.promise
    }
    isNext = HesitantDatabase.after !== '' && text.includes(`.${HesitantDatabase.after}(`)
    return await query(...args)
  }) as typeof client.query
}

test.each([
  ["a run's transaction", 'keep_steps'],
  ["a call on a caller's pool", 'settle_runs'],
])('OPS-03: a process that freezes right before it commits %s does not keep the run from others', async (_, after) => {
  Object.assign(HesitantDatabase, { after, reached: signal(), go: signal() })
  let bodies = 0
  const pays = defineWorkflow({
    name: `pays before ${after}`,
    handler: (_input, run) =>
      run.transaction('pay', async (tx) => {
        await tx.query('select 1')
        return (bodies += 1)
      }),
  })
  await startWorker(database, { workflows: [pays], kind: HesitantDatabase })
  const client = openClient(database)
  const run = await client.start(pays)
  await HesitantDatabase.reached.promise

  const other = await connect(database)
  await other.query('set lock_timeout = 0')
  expect(await other.query('select id from holdfast.runs where id = $1 for update', [run.id])).toEqual([{ id: run.id }])

  HesitantDatabase.go.give()
  expect(await client.result(run)).toBe(after === 'keep_steps' ? 2 : 1)
  expect(await client.get(run)).toMatchObject({ state: 'done', attempt: 1 })
})
