import { expect, test, vi } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { staysBriefly } from '../leases/forked-workflows.ts'
import { useDatabase, type Address } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { startProxy } from '../support/proxy.ts'
import { newId, newWorker } from '../support/runs.ts'
import { HandClient } from '../support/variant.ts'
import { useCluster } from '../support/use-cluster.ts'
import { openClient, startWorker } from '../support/worker.ts'

const cluster = useCluster()
const database = useDatabase()
const module = new URL('../leases/forked-workflows.ts', import.meta.url)

/** Three workers hold runs under short leases, until all have given them up; then the outage ends, and so do the runs. */
async function outlast(address: Address, begin: () => Promise<unknown>, end: () => Promise<unknown>): Promise<void> {
  const workers = await Promise.all([1, 2, 3].map(() => forkWorker(address, { module, concurrency: 2 })))
  const client = openClient(address)
  const started = await Promise.all(Array.from({ length: 6 }, () => client.start(staysBriefly)))
  await Promise.all(started.map(({ id }) => Promise.any(workers.map((worker) => worker.hear('entered', id)))))
  await begin()
  await Promise.all(workers.map((worker) => worker.hearLog('could not be renewed in time')))
  await end()
  for (const worker of workers) worker.order('go')
  expect(await Promise.all(started.map((run) => client.result(run)))).toEqual(started.map(() => 1))
  expect(workers.every((worker) => worker.isAlive)).toBe(true)
  const exits = await Promise.all(workers.map((worker) => worker.terminate()))
  expect(exits).toEqual(workers.map(() => ({ code: 0, signal: null })))
}

test('OPS-03: while the server is down for longer than leases last no process ends, and no attempt is counted', async () => {
  await outlast(
    cluster,
    () => cluster.stop('immediate'),
    () => cluster.start(),
  )
}, 60_000)

test('OPS-03: while nobody reaches the server for longer than leases last, the same', async () => {
  const proxy = await startProxy(database)
  const cutOff = async (): Promise<void> => {
    proxy.refuse()
    proxy.cutNow()
    await Promise.resolve()
  }
  await outlast(proxy, cutOff, async () => {
    proxy.mend()
    await Promise.resolve()
  })
}, 60_000)

test('OPS-03: a new worker on a server that was started anew leaves the leases of those of before alone for a while', async () => {
  const counts = new Map<string, number>()
  class CountedDatabase extends Database {
    override async call<Row>(fn: string, values: readonly unknown[]): Promise<Row[]> {
      const rows = await super.call<Row>(fn, values)
      counts.set(fn, (counts.get(fn) ?? 0) + 1)
      return rows
    }
  }
  const session = new HandClient(cluster.connectionString)
  await session.connect()
  try {
    const [run, worker] = [newId(), newWorker()]
    await session.query(
      `insert into holdfast.runs (id, token, workflow, state, priority, max_attempts, attempt, created_at, due_at,
         claimed_at, lease_until, worker_id)
       values ($1, 1, 'of before', 'running', 0, 10, 1, now(), now(), now(), now() - interval '1 ms', $2)`,
      [run, worker],
    )
    await session.query(
      `insert into holdfast.workers (id, name, workflows, slots, lease, pool_ids, postmaster_started_at, started_at, seen_at,
         suspected_at)
       values ($1, 'of before', '{}', 1, '1 h', '{}', pg_postmaster_start_time() - interval '1 h', now(), now(), now())`,
      [worker],
    )
    // Another sweeper looks at it just now.
    await session.query('begin')
    await session.query('select from holdfast.workers where id = $1 for update', [worker])
    const state = async (): Promise<unknown> =>
      (await session.query<{ state: string }>('select state from holdfast.runs where id = $1', [run])).rows[0]?.state
    await startWorker(cluster, { workflows: [staysBriefly], kind: CountedDatabase })
    await vi.waitFor(() => expect(counts.get('reissue_tickets')).toBeGreaterThan(3), 10_000)
    expect([await state(), counts.get('end_leases')]).toEqual(['running', undefined])
    await session.query('commit')
    await vi.waitFor(async () => expect(await state()).toBe('waiting'), 15_000)
  } finally {
    await session.end()
  }
})
