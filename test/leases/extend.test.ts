import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { loseLease } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { burnsExtended } from './extending-workflows.ts'

const database = useDatabase()

async function leaseOf(run: string): Promise<number> {
  const { rows } = await database.query<{ ms: number }>(
    `select (extract(epoch from lease_until) * 1000)::float8 as ms from holdfast.runs where id = $1`,
    [run],
  )
  return rows[0]?.ms ?? Number.NaN
}

test("LEASE-03: run.leaseExpiresAt is the database's own end of the lease, and moves on with renewals", async () => {
  const workflow = defineWorkflow({
    name: 'renewed',
    lease: '400ms',
    handler: async (_, run) => {
      // A renewal may come between the two looks.
      const isKnown = async (): Promise<number> => {
        const before = run.leaseExpiresAt.getTime()
        const stored = await leaseOf(run.id)
        return run.leaseExpiresAt.getTime() === before ? Math.abs(stored - before) : Number.NaN
      }
      const first = run.leaseExpiresAt.getTime()
      await expect.poll(isKnown).toBeLessThan(1)
      await expect.poll(() => run.leaseExpiresAt.getTime()).toBeGreaterThan(first)
      await expect.poll(isKnown).toBeLessThan(1)
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  await client.result(await client.start(workflow))
})

test('LEASE-03: run.extend counts from now, answers the new end, is cut to maxLease, and makes no lease shorter', async () => {
  const workflow = defineWorkflow({
    name: 'extended',
    lease: '2s',
    maxLease: '1m',
    handler: async (_, run) => {
      const from = await run.now()
      const [ten, hour, short] = [await run.extend('10s'), await run.extend('1h'), await run.extend('1ms')]
      return [ten, hour, short, run.leaseExpiresAt, new Date(await leaseOf(run.id))].map(
        (at) => at.getTime() - from.getTime(),
      )
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const [ten = 0, hour = 0, short, known, stored = 0] = await client.result(await client.start(workflow))
  expect(ten).toBeGreaterThanOrEqual(10_000 - 5)
  expect(ten).toBeLessThan(20_000)
  expect(hour).toBeGreaterThanOrEqual(60_000 - 5)
  expect(hour).toBeLessThan(70_000)
  expect([short, known]).toEqual([hour, hour])
  expect(Math.abs(stored - hour)).toBeLessThan(1)
})

test('LEASE-03: a handler that extended its lease may block the event loop for that long', async () => {
  const block = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  const workflow = defineWorkflow({
    name: 'blocks',
    lease: '500ms',
    handler: async (_, run) => {
      await run.extend('5s')
      block(1_500)
      return await run.step('after', () => run.attempt)
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  expect(await client.result(await client.start(workflow))).toBe(1)
})

test('LEASE-03: a process that is busy under an extended lease is silent to the others, and keeps its claim', async () => {
  const busy = await forkWorker(database, {
    module: new URL('extending-workflows.ts', import.meta.url),
    concurrency: 1,
  })
  const id = await busy.ready()
  const client = openClient(database)
  const run = await client.start(burnsExtended)
  await expect.poll(async () => (await client.get(run))?.workerId).toBe(id)
  // It sweeps, and would take the run.
  await startWorker(database, { workflows: [burnsExtended] })
  const endedAs = async (): Promise<unknown> =>
    (await database.query('select ended_as from holdfast.workers where id = $1', [id])).rows[0]?.['ended_as']
  // Two of its leases have gone by without a sign.
  await vi.waitFor(async () => expect(await endedAs()).toBe('silent'), 10_000)
  expect(await client.result(run)).toBe(1)
  expect(await client.get(run)).toMatchObject({ attempt: 1, workerId: id })
})

test('LEASE-03: a lease that is lost cannot be extended, and the claim stops', async () => {
  const [entered, go, refused] = [signal(), signal(), signal<unknown>()]
  const workflow = defineWorkflow({
    name: 'lost before',
    handler: async (_, run) => {
      if (run.attempt > 1) return 'again'
      entered.give()
      await go.promise
      refused.give(await run.extend('1m').catch((error: unknown) => error))
      expect(run.abortSignal.aborted).toBe(true)
      return 'too late'
    },
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  await entered.promise
  await loseLease(database, run.id)
  go.give()
  expect(await refused.promise).toMatchObject({ code: 'LEASE_LOST' })
  expect(await client.result(run)).toBe('again')
})
