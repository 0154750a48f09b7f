import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()
const count = 20

const shared = defineWorkflow({ name: 'shared', handler: (_, run) => run.attempt })
const added = defineWorkflow({ name: 'added', handler: (_, run) => run.step('work', () => run.attempt) })

/** Which they are, and whether anybody has had them. */
async function tickets(runs: readonly { readonly id: string }[]): Promise<unknown[]> {
  const { rows } = await database.query(
    `select id, locked_by, attempts from holdfast_queue._private_jobs
     where payload ->> 'run' = any($1) order by id`,
    [runs.map((run) => run.id)],
  )
  return rows
}

test('OPS-06: runs of a workflow that a worker does not have keep their tickets until one comes that does', async () => {
  const client = openClient(database)
  const unknown = await Promise.all(Array.from({ length: count }, () => client.start(added)))
  const before = await tickets(unknown)
  expect(before).toHaveLength(count)
  const scheduled = await client.start(added, undefined, { delay: 50 })
  await startWorker(database, { workflows: [shared] })
  const known = await Promise.all(Array.from({ length: count }, () => client.start(shared)))
  expect(await Promise.all(known.map((run) => client.result(run)))).toEqual(known.map(() => 1))
  // Its housekeeping is everybody's: it promotes what is due, and re-issues what was due for long and has no ticket.
  await vi.waitFor(async () => expect(await client.get(scheduled)).toMatchObject({ state: 'waiting' }), 10_000)
  await database.query(`update holdfast.runs set due_at = due_at - interval '1 min' where workflow = 'added'`)
  await database.query(`delete from holdfast_queue._private_jobs where payload ->> 'run' = $1`, [scheduled.id])
  await vi.waitFor(
    async () => expect(await tickets([scheduled])).toMatchObject([{ locked_by: null, attempts: 0 }]),
    10_000,
  )
  expect(await tickets(unknown)).toEqual(before)
  const claimed = await database.query(`select from holdfast.all_claims c join holdfast.runs r on r.id = c.run_id
    where r.workflow = 'added'`)
  expect(claimed.rowCount).toBe(0)

  const runs = [...unknown, scheduled]
  await startWorker(database, { workflows: [shared, added] })
  expect(await Promise.all(runs.map((run) => client.result(run)))).toEqual(runs.map(() => 1))
})
