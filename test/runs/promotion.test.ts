import { expect, test } from 'vitest'
import { defineWorkflow, type Client } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { createDatabase, useDatabase, type TestDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { openClient, rareLooks, startWorker } from '../support/worker.ts'

const database = useDatabase()

const prompt = defineWorkflow({ name: 'prompt', handler: () => 'done' })

/** Starts one run for each delay at once, and answers how long after its due time each was claimed, sorted, in ms. */
async function latenesses(on: TestDatabase, client: Client, delays: readonly number[]): Promise<number[]> {
  const started = await Promise.all(delays.map((delay) => client.start(prompt, undefined, { delay })))
  for (const run of started) {
    expect(run.state).toBe('scheduled')
    await client.result(run)
  }
  const { rows } = await on.query<{ late: number }>(
    `select extract(epoch from claimed_at - due_at)::float8 * 1000 as late from holdfast.runs where id = any($1)`,
    [started.map((run) => run.id)],
  )
  return rows.map(({ late }) => late).toSorted((a, b) => a - b)
}

const spread = Array.from({ length: 15 }, (_, index) => 200 + index * 67)

const isUntold = isPointless('no-notify', 'it is about what NOTIFY makes prompt, and the next one about the rest')

test.skipIf(isUntold)(
  'RUN-03: a run with a future time is scheduled, never runs before it, and runs promptly once it is due',
  async () => {
    const client = openClient(database)
    await startWorker(database, { workflows: [prompt], timings: rareLooks })
    const late = await latenesses(database, client, spread)
    expect(late[0]).toBeGreaterThanOrEqual(0)
  },
)

test('RUN-03: where notifications do not arrive, a run is promoted by the poll', async () => {
  const silent = await createDatabase()
  try {
    await silent.query(`create or replace function holdfast._notify(_message text) returns void
      language sql volatile as $$ select null::void $$`)
    const client = openClient(silent)
    const worker = await startWorker(silent, { workflows: [prompt] })
    const late = await latenesses(silent, client, [20, 300, 600])
    expect(late[0]).toBeGreaterThanOrEqual(0)
    await Promise.all([worker.stop(), client.close()])
  } finally {
    await silent.drop()
  }
})

test('RUN-03: a run that became due while no worker was there runs when one comes', async () => {
  const client = openClient(database)
  const soon = defineWorkflow({ name: 'due alone', handler: () => 'done' })
  const run = await client.start(soon, undefined, { at: new Date(Date.now() + 1_000) })
  expect(run.state).toBe('scheduled')
  await expect
    .poll(
      async () =>
        (await database.query('select from holdfast.runs where id = $1 and due_at < now()', [run.id])).rowCount,
    )
    .toBe(1)
  expect(await client.get(run)).toMatchObject({ state: 'scheduled' })
  await startWorker(database, { workflows: [soon] })
  expect(await client.result(run)).toBe('done')
})

test('RUN-03: a run due far ahead waits without a ticket', async () => {
  const client = openClient(database)
  const far = defineWorkflow({ name: 'due later', handler: () => 'done' })
  const later = await Promise.all((['1m', '1d'] as const).map((delay) => client.start(far, undefined, { delay })))
  await startWorker(database, { workflows: [far] })
  await client.result(await client.start(far))
  const session = await connect(database)
  await session.call('promote_due', 100)
  for (const run of later) {
    expect(await client.get(run)).toMatchObject({ state: 'scheduled', attempt: 0 })
    const { rows } = await database.query(`select from holdfast_queue._private_jobs where payload ->> 'run' = $1`, [
      run.id,
    ])
    expect(rows).toEqual([])
  }
})
