import { afterEach, expect, test, vi } from 'vitest'
import { createWorker, defineWorkflow, type Worker } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'
import { openClient, signal } from '../support/worker.ts'

const database = useDatabase()
const workers: Worker[] = []

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop({ grace: 0 })))
})

/** How many claims of a workflow the database ever saw at once. */
async function mostAtOnce(workflow: string): Promise<number | undefined> {
  const { rows } = await database.query<{ most: number }>(
    `select max(live)::int as most from (
       select sum(change) over (order by at, change) as live from (
         select claimed_at as at, 1 as change from holdfast.runs where workflow = $1
         union all select ended_at, -1 from holdfast.runs where workflow = $1) changes) course`,
    [workflow],
  )
  return rows[0]?.most
}

test.each([
  { concurrency: undefined, slots: 16 },
  { concurrency: 1, slots: 1 },
  { concurrency: 3, slots: 3 },
])(
  'OPS-01: asked for $concurrency slots, a worker runs exactly $slots claims at once',
  async ({ concurrency, slots }) => {
    const [full, go] = [signal(), signal()]
    let [active, most] = [0, 0]
    const workflow = defineWorkflow({
      name: `in ${slots} slots`,
      handler: async (_, run) => {
        active += 1
        most = Math.max(most, active)
        if (active === slots) full.give()
        await go.promise
        await run.step('work', () => undefined)
        active -= 1
      },
    })
    const client = openClient(database)
    const started = await Promise.all(Array.from({ length: slots * 3 + 4 }, () => client.start(workflow)))
    const options = { ...optionsFor(database), migrate: 'off', workflows: [workflow] } as const
    const worker = createWorker(concurrency === undefined ? options : { ...options, concurrency })
    workers.push(worker)
    await worker.start()
    await full.promise

    // It has taken tickets beyond its slots at most to put them back.
    await vi.waitFor(async () => {
      const { rows } = await database.query(
        `select from holdfast.runs r join holdfast_queue._private_jobs j on j.payload ->> 'run' = r.id::text
       where r.workflow = $1 and r.state = 'waiting' and j.locked_by is not null`,
        [workflow.name],
      )
      expect(rows).toEqual([])
    }, 10_000)
    const { rows } = await database.query<{ running: number }>(
      `select count(*)::int as running from holdfast.runs where workflow = $1 and state = 'running'`,
      [workflow.name],
    )
    expect({ most, running: rows[0]?.running }).toEqual({ most: slots, running: slots })
    go.give()
    await Promise.all(started.map((run) => client.result(run)))
    expect({ most, inDatabase: await mostAtOnce(workflow.name) }).toEqual({ most: slots, inDatabase: slots })
  },
)
