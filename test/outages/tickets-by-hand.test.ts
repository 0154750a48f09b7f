import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { loseLease } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

const meddling = {
  unlocked: `update holdfast_queue._private_jobs set locked_by = null, locked_at = null, run_at = now()`,
  deleted: 'delete from holdfast_queue._private_jobs',
} as const

async function meddle(how: keyof typeof meddling, runId: string): Promise<void> {
  const { rowCount } = await database.query(`${meddling[how]} where payload ->> 'run' = $1`, [runId])
  expect(rowCount).toBe(1)
}

function slow(name: string): {
  readonly workflow: ReturnType<typeof defineWorkflow>
  readonly bodies: string[]
  readonly begun: Promise<void>
  readonly end: () => void
} {
  const [begun, ends] = [signal(), signal()]
  const bodies: string[] = []
  const workflow = defineWorkflow({
    name,
    handler: async (_, run) => {
      await run.step('slow', async () => {
        bodies.push(run.id)
        begun.give()
        await ends.promise
      })
      return bodies.length
    },
  })
  return { workflow, bodies, begun: begun.promise, end: () => ends.give() }
}

test.for(['unlocked', 'deleted'] as const)(
  'LEASE-01: a run whose ticket is %s by hand while it runs is run by nobody else, and has one result',
  async (how) => {
    const { workflow, bodies, begun, end } = slow(`ticket ${how}`)
    const client = openClient(database)
    const started = await client.start(workflow)
    await startWorker(database, { workflows: [workflow], concurrency: 1 })
    await begun
    // Of two workers the other alone has a slot for it.
    const other = await startWorker(database, { workflows: [workflow] })
    await meddle(how, started.id)
    // It has taken the ticket, found nothing to do, and done what came after.
    await vi.waitFor(async () => {
      const { rows } = await database.query(`select from holdfast_queue._private_jobs where payload ->> 'run' = $1`, [
        started.id,
      ])
      expect(rows).toEqual([])
    }, 10_000)
    end()
    expect(await client.result(started)).toBe(1)
    expect(bodies).toEqual([started.id])
    await other.stop()
    const { rows } = await database.query('select outcome from holdfast.all_claims where run_id = $1', [started.id])
    expect(rows).toEqual([{ outcome: 'done' }])
  },
)

test('LEASE-04: a run whose ticket is gone gets another when its lease is lost', async () => {
  const { workflow, bodies, begun, end } = slow('lost without a ticket')
  const client = openClient(database)
  const started = await client.start(workflow)
  await startWorker(database, { workflows: [workflow], concurrency: 1 })
  await begun
  await meddle('deleted', started.id)
  await startWorker(database, { workflows: [workflow] })
  await loseLease(database, started.id)
  await vi.waitFor(() => expect(bodies).toEqual([started.id, started.id]), 15_000)
  end()
  expect(await client.result(started)).toBe(2)
  const { rows } = await database.query('select outcome from holdfast.all_claims where run_id = $1 order by token', [
    started.id,
  ])
  expect(rows).toEqual([{ outcome: 'lease_lost' }, { outcome: 'done' }])
})

test('RUN-01: a waiting run whose ticket is gone, used up or left locked gets another from the sweep', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({ name: 'without a ticket', handler: (_, run) => run.attempt })
  const harms = [
    'delete from holdfast_queue._private_jobs',
    'update holdfast_queue._private_jobs set attempts = max_attempts',
    `update holdfast_queue._private_jobs set locked_by = 'nobody', locked_at = now() - interval '11 s'`,
  ]
  const runs = await Promise.all(harms.map(() => client.start(workflow)))
  for (const [index, harm] of harms.entries()) {
    expect((await database.query(`${harm} where payload ->> 'run' = $1`, [runs[index]?.id])).rowCount).toBe(1)
  }
  // They have been due for longer than a ticket may take.
  await database.query(`update holdfast.runs set due_at = due_at - interval '11 s' where id = any($1)`, [
    runs.map((run) => run.id),
  ])
  await startWorker(database, { workflows: [workflow] })
  expect(await Promise.all(runs.map((run) => client.result(run)))).toEqual([1, 1, 1])
})
