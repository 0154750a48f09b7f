import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { claimByHand, expire, outcomes } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

async function ticketsOf(runId: string): Promise<{ locked_by: string | null }[]> {
  const { rows } = await database.query<{ locked_by: string | null }>(
    `select locked_by from holdfast_queue._private_jobs where payload ->> 'run' = $1`,
    [runId],
  )
  return rows
}

test('LEASE-01: of many workers that ask for a run at once, one gets it', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({ name: 'wanted', handler: () => undefined })
  for (let round = 0; round < 20; round += 1) {
    const { id } = await client.start(workflow)
    const claims = await Promise.allSettled(Array.from({ length: 8 }, () => claimByHand(database, id)))
    const taken = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []))
    expect(taken.map(({ claim }) => claim.token)).toEqual([1])
    await taken[0]?.settle(outcomes.done)
  }
})

test('LEASE-01: a leased run is given to nobody, neither asked for anew nor again after a lost reply', async () => {
  const { id } = await openClient(database).start(defineWorkflow({ name: 'taken', handler: () => undefined }))
  const holder = await claimByHand(database, id)
  await expire(database, id)
  const stranger = randomUUID()
  for (const workerId of [holder.workerId, stranger]) {
    await expect(claimByHand(database, id, { workerId })).rejects.toThrow('not to be had')
  }
  await expect(claimByHand(database, id, { workerId: stranger, isRepeated: true })).rejects.toThrow('not to be had')
  const again = await claimByHand(database, id, { workerId: holder.workerId, isRepeated: true })
  expect(again.claim).toEqual({ ...holder.claim, leaseUntil: again.claim.leaseUntil })
  // The worker counts it from when it asked again.
  expect(again.claim.leaseUntil.getTime()).toBeGreaterThanOrEqual(holder.claim.leaseUntil.getTime())
})

test("LEASE-01: a running run's ticket that falls into another worker's hands changes nothing", async () => {
  const [entered, go] = [signal(), signal()]
  const bodies: number[] = []
  const workflow = defineWorkflow({
    name: 'twice ticketed',
    handler: async (_, run) => {
      entered.give()
      await go.promise
      return await run.step('once', () => bodies.push(run.attempt))
    },
  })
  await startWorker(database, { workflows: [workflow], concurrency: 1 })
  const started = await openClient(database).start(workflow)
  await entered.promise
  await startWorker(database, { workflows: [workflow] })
  expect(await ticketsOf(started.id)).toMatchObject([{ locked_by: expect.stringContaining('holdfast-') as string }])
  await database.query(
    `update holdfast_queue._private_jobs set locked_by = null, locked_at = null where payload ->> 'run' = $1`,
    [started.id],
  )
  // The other worker has looked at the run, and its ticket is used up.
  await vi.waitFor(async () => expect(await ticketsOf(started.id)).toEqual([]), 10_000)
  go.give()

  expect(await openClient(database).result(started)).toBe(1)
  expect(bodies).toEqual([1])
  const { rows } = await database.query('select token, attempt, outcome from holdfast.all_claims where run_id = $1', [
    started.id,
  ])
  expect(rows).toEqual([{ token: 1, attempt: 1, outcome: 'done' }])
})

test('LEASE-01: a worker that comes up in the very moment its run is started takes it once', async () => {
  const bodies = new Map<string, number>()
  const workflow = defineWorkflow({
    name: 'newborn',
    lease: '1.5s',
    handler: (_, run) => void bodies.set(run.id, (bodies.get(run.id) ?? 0) + 1),
  })
  const client = openClient(database)
  for (let round = 0; round < 8; round += 1) {
    const starts = Array.from({ length: 5 }, () => client.start(workflow))
    const workers = await Promise.all([
      startWorker(database, { workflows: [workflow] }),
      startWorker(database, { workflows: [workflow] }),
    ])
    const started = await Promise.all([...starts, client.start(workflow)])
    await Promise.all(started.map((run) => client.result(run)))
    await Promise.all(workers.map((worker) => worker.stop()))
  }
  expect(bodies.size).toBe(48)
  expect([...bodies.values()].every((count) => count === 1)).toBe(true)
})

test('RUN-01: a waiting run whose ticket is gone gets a new one', async () => {
  const workflow = defineWorkflow({ name: 'ticketless', handler: () => 'ran' })
  const client = openClient(database)
  const started = await client.start(workflow)
  await database.query(`delete from holdfast_queue._private_jobs where payload ->> 'run' = $1`, [started.id])
  await database.query(`update holdfast.runs set due_at = due_at - interval '10 s' where id = $1`, [started.id])
  await startWorker(database, { workflows: [workflow] })
  expect(await client.result(started)).toBe('ran')
})

test("RUN-01: a waiting run whose ticket is locked by nobody's worker any more gets a new one", async () => {
  const workflow = defineWorkflow({ name: 'locked away', handler: () => 'ran' })
  const client = openClient(database)
  const started = await client.start(workflow)
  await database.query(
    `update holdfast_queue._private_jobs set locked_by = 'gone', locked_at = now() - interval '10 s', attempts = 1
     where payload ->> 'run' = $1`,
    [started.id],
  )
  await database.query(`update holdfast.runs set due_at = due_at - interval '10 s' where id = $1`, [started.id])
  await startWorker(database, { workflows: [workflow] })
  expect(await client.result(started)).toBe('ran')
})
