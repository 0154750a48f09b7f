import { expect, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { defineWorkflow, type RunRef } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { takeTickets } from '../support/limits.ts'
import { claimFor, newWorker, settle } from '../support/runs.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

/** Counts the runs that came with a settle's answer. */
function counting(): { kind: typeof Database; handedOver: () => number } {
  let handedOver = 0
  class CountingDatabase extends Database {
    override async call<Row>(called: string, values: readonly unknown[]): Promise<Row[]> {
      const rows = await super.call<Row>(called, values)
      if (called === 'settle_runs') handedOver += rows.length
      return rows
    }
  }
  return { kind: CountingDatabase, handedOver: () => handedOver }
}

/** All waiting runs, as a worker with many slots does; two of them have begun there, and end. */
async function setAside(workflow: string): Promise<void> {
  const session = await connect(database)
  const worker = newWorker()
  const begun = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  await settle(
    session,
    worker,
    begun.map(({ id, token }) => ({ id, token, outcome: 'done' })),
  )
}

const items = (count: number): { input: undefined }[] => Array.from({ length: count }, () => ({ input: undefined }))

test('a settle of a saturated line brings the next run of it', async () => {
  const workflow = defineWorkflow({ name: 'handed over', concurrency: 1, handler: () => 1 })
  const { kind, handedOver } = counting()
  const client = openClient(database)
  const runs = await client.startMany(workflow, items(50))
  await startWorker(database, { workflows: [workflow], kind, concurrency: 8 })
  await Promise.all(runs.map((run) => client.result(run)))
  expect(handedOver()).toBeGreaterThan(10)
})

test('RUN-04: with one slot nothing is handed over, and the order is exact between workflows too', async () => {
  const order: string[] = []
  const [begun, go] = [signal(), signal()]
  const limited = defineWorkflow({
    name: 'one at a time',
    concurrency: 1,
    handler: async (_, run) => {
      order.push(run.key ?? '')
      if (run.key !== 'first') return
      begun.give()
      await go.promise
    },
  })
  const urgent = defineWorkflow({ name: 'urgent', priority: 9, handler: () => void order.push('urgent') })
  const { kind, handedOver } = counting()
  const client = openClient(database)
  await startWorker(database, { workflows: [limited, urgent], kind, concurrency: 1 })
  const runs = [await client.start(limited, undefined, { key: 'first' })]
  await begun.promise
  runs.push(await client.start(limited, undefined, { key: 'second' }), await client.start(urgent))
  go.give()
  await Promise.all(runs.map((run) => client.result(run)))
  expect(order).toEqual(['first', 'urgent', 'second'])
  expect(handedOver()).toBe(0)
})

test('LIMIT-04: a backlog under a limit does not keep the slots from others', async () => {
  const count = 400
  let done = 0
  const other = defineWorkflow({ name: 'beside it', priority: 1, handler: () => done })
  const client = openClient(database)
  const beside = signal<RunRef<number>>()
  const limited = defineWorkflow({
    name: 'backlog',
    concurrency: 2,
    handler: async () => {
      await systemClock.sleep(5)
      done += 1
      if (done === 20) beside.give(await client.start(other))
    },
  })
  const runs = await client.startMany(limited, items(count))
  await setAside('backlog')
  await startWorker(database, { workflows: [limited, other], concurrency: 2 })
  expect(await client.result(await beside.promise)).toBeLessThan(count - 20)
  await Promise.all(runs.map((run) => client.result(run)))
})
