import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { defaultTimings } from '../../src/worker/timings.ts'
import { claimByHand, outcomes, sweepLeases } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { giveOrder } from '../support/tell.ts'
import { variant } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { kills, stays } from './forked-workflows.ts'

const database = useDatabase()
const module = new URL('forked-workflows.ts', import.meta.url)
const bystander = defineWorkflow({ name: 'bystander', handler: () => 'served' })

async function now(): Promise<string> {
  return (await database.query<{ now: string }>('select clock_timestamp()::text as now')).rows[0]?.now ?? ''
}

test('LEASE-09: a killed process has its runs claimed by another within 2 s, although their leases last 30 s', async () => {
  const client = openClient(database)
  const killed = await forkWorker(database, { module, concurrency: 3, timings: defaultTimings })
  const workerId = await killed.ready()
  const runs = await Promise.all([client.start(stays), client.start(stays), client.start(stays)])
  await Promise.all(runs.map((run) => killed.hear('entered', run.id)))
  // A fourth ticket that it took and did not begin.
  const fourth = await client.start(stays)
  const { rows: pools } = await database.query<{ id: string }>(
    'select unnest(pool_ids) as id from holdfast.workers where id = $1',
    [workerId],
  )
  await database.query(
    `update holdfast_queue._private_jobs set locked_by = $2, locked_at = now() where payload ->> 'run' = $1`,
    [fourth.id, pools[0]?.id],
  )
  giveOrder('go')
  await startWorker(database, { workflows: [stays], timings: defaultTimings })

  const killedAt = await now()
  await killed.kill()
  const results = await Promise.all([...runs, fourth].map((run) => client.result(run)))
  expect(results).toEqual([2, 2, 2, 1])
  const { rows } = await database.query(
    `select claimed_at - $2::timestamptz < $3::interval as is_soon, claimed_at > $2 as is_after
     from holdfast.runs where id = any($1)`,
    // Without NOTIFY a ticket waits for the next poll besides.
    [[...runs, fourth].map((run) => run.id), killedAt, variant.isSilent ? '3 s' : '2 s'],
  )
  expect(rows).toEqual(rows.map(() => ({ is_soon: true, is_after: true })))
  expect((await database.query('select ended_as from holdfast.workers where id = $1', [workerId])).rows).toEqual([
    { ended_as: 'dead' },
  ])
  await vi.waitFor(async () => {
    const { rows: locked } = await database.query(
      'select from holdfast_queue._private_jobs where locked_by = any($1)',
      [pools.map((pool) => pool.id)],
    )
    expect(locked).toEqual([])
  }, 10_000)
  const { rows: lost } = await database.query(
    `select outcome, attempt, worker_id from holdfast.claims where run_id = any($1)`,
    [runs.map((run) => run.id)],
  )
  expect(lost).toEqual(runs.map(() => ({ outcome: 'lease_lost', attempt: 1, worker_id: workerId })))
})

test('TRY-02: a handler that kills its process every time fails for good at its attempts, and other workers stay up', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [bystander] })
  const workers = await Promise.all([1, 2, 3].map(() => forkWorker(database, { module, concurrency: 1 })))
  const started = await client.start(kills)
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'lease_expired' })
  expect(await client.get(started)).toMatchObject({ state: 'failed', attempt: 2, maxAttempts: 2 })
  const { rows } = await database.query(
    'select outcome, attempt from holdfast.all_claims where run_id = $1 order by token',
    [started.id],
  )
  expect(rows).toEqual([
    { outcome: 'lease_lost', attempt: 1 },
    { outcome: 'lease_lost', attempt: 2 },
  ])
  // Two processes went with it; the third is there, and so is whoever runs something else.
  expect(workers.filter((worker) => worker.isAlive)).toHaveLength(1)
  expect(new Set(workers.flatMap((worker) => worker.told.map(({ attempt }) => attempt)))).toEqual(new Set([1, 2]))
  expect(await client.result(await client.start(bystander))).toBe('served')
})

test('TRY-10: a run outlives its killed workers, one after the other', async () => {
  const client = openClient(database)
  const workers = await Promise.all([1, 2].map(() => forkWorker(database, { module, concurrency: 1 })))
  const started = await client.start(stays)
  for (let kill = 1; kill <= 2; kill += 1) {
    const holder = await Promise.any(
      workers.filter((worker) => worker.isAlive).map((worker) => worker.hear('entered', started.id).then(() => worker)),
    )
    expect(holder.told.at(-1)).toMatchObject({ runId: started.id, attempt: kill })
    if (kill === 2) await startWorker(database, { workflows: [stays] })
    await holder.kill()
  }
  giveOrder('go')
  expect(await client.result(started)).toBe(3)
})

test('TRY-10: thirty lost workers and thirty shutdowns do not lose a run, and only the lost ones count', async () => {
  const client = openClient(database)
  const started = await client.start(stays)
  for (let shutdown = 0; shutdown < 30; shutdown += 1) {
    const claim = await claimByHand(database, started.id)
    expect(claim.claim.attempt).toBe(1)
    expect(await claim.settle(outcomes.released)).toBeUndefined()
  }
  for (let attempt = 1; attempt <= 30; attempt += 1) {
    const { workerId, claim } = await claimByHand(database, started.id)
    expect(claim.attempt).toBe(attempt)
    await database.query(
      `insert into holdfast.workers (id, name, workflows, slots, lease, pool_ids, started_at, seen_at, ended_at, ended_as)
       values ($1, 'killed', '{stays}', 1, '30 s', '{}', now(), now(), now(), 'dead')`,
      [workerId],
    )
    expect(await sweepLeases(database)).toBe(1)
  }
  giveOrder('go')
  await startWorker(database, { workflows: [stays] })
  expect(await client.result(started)).toBe(31)
})
