import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

/** Which bodies ran, by run and step. */
const bodies: string[] = []

async function step(run: Run, name: string): Promise<string> {
  return await run.step(name, () => {
    bodies.push(`${run.id} ${name}`)
    return name
  })
}

/** Goes on in another claim, which any version may make. */
async function pause(run: Run): Promise<boolean> {
  const claims = await database.query('select from holdfast.claims where run_id = $1', [run.id])
  return claims.rowCount === 0
}

const before = defineWorkflow({
  name: 'order',
  maxAttempts: 3,
  input: z.object({ id: z.number() }),
  handler: async (_, run) => {
    const first = await step(run, 'charge')
    if (await pause(run)) return run.snooze(1)
    return [first, await step(run, 'post')]
  },
})

const after = defineWorkflow({
  name: 'order',
  maxAttempts: 7,
  lease: '1m',
  retry: { initial: '5s' },
  priority: 3,
  input: z.object({ id: z.number(), note: z.string().default('none') }),
  handler: async ({ note }, run) => {
    const first = await step(run, 'charge')
    if (await pause(run)) return run.snooze(1)
    return [first, await step(run, 'pack'), await step(run, 'send'), note]
  },
})

async function definitions(): Promise<unknown[]> {
  const { rows } = await database.query(
    `select fingerprint, first_seen_at from holdfast.definitions where workflow = 'order' order by first_seen_at`,
  )
  return rows
}

test('OPS-06: an old worker beside a new one fails nothing: steps, options and input differ, and kept steps stay kept', async () => {
  const client = openClient(database)
  const old = openClient(database)
  const workers = [
    await startWorker(database, { workflows: [before], concurrency: 2 }),
    await startWorker(database, { workflows: [after], concurrency: 2 }),
  ]
  const runs = await Promise.all(
    Array.from({ length: 60 }, (_, id) =>
      id % 2 === 0 ? old.start(before, { id }) : client.start(after, { id, note: 'x' }),
    ),
  )
  const results = await Promise.all(runs.map((run) => client.result<unknown>(run)))
  const shapes = new Set(results.map((result) => JSON.stringify(result)))
  // Each version ran some, and some that the other had begun or that the other's client had started.
  expect([...shapes].toSorted()).toEqual([
    '["charge","pack","send","none"]',
    '["charge","pack","send","x"]',
    '["charge","post"]',
  ])
  expect(new Set(bodies).size).toBe(bodies.length)
  const { rows } = await database.query(
    `select count(distinct w)::int as workers, bool_or(changed) as is_changed from (
       select unnest(array_agg(worker_id)) as w, count(distinct worker_id) > 1 as changed
       from holdfast.all_claims group by run_id) claims`,
  )
  expect(rows).toEqual([{ workers: 2, is_changed: true }])
  const states = await database.query('select distinct state, attempt, failure from holdfast.runs')
  expect(states.rows).toEqual([{ state: 'done', attempt: 1, failure: null }])

  const seen = await definitions()
  expect(seen).toHaveLength(2)
  await Promise.all(workers.map((worker) => worker.stop()))
  for (const workflow of [before, after, before, after]) {
    const again = await startWorker(database, { workflows: [workflow] })
    await openClient(database).start(workflow, { id: 1 })
    await again.stop()
  }
  expect(await definitions()).toEqual(seen)
})
