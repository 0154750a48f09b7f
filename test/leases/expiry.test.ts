import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { claimByHand, expire } from '../support/claim-by-hand.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()
const leaseMs = 1_500
const workflow = defineWorkflow({
  name: 'expiring',
  lease: leaseMs,
  retry: { initial: '1h', max: '1h' },
  handler: (_, run) => run.attempt,
})
const other = defineWorkflow({ name: 'something else', handler: () => undefined })

interface LostClaim {
  readonly attempt: number
  readonly outcome: string
  readonly ended_late_by: number
}

async function lostClaims(runId: string): Promise<LostClaim[]> {
  const { rows } = await database.query<LostClaim>(
    `select attempt, outcome, extract(epoch from ended_at - began_at)::float * 1000 - $2 as ended_late_by
     from holdfast.claims where run_id = $1 order by token`,
    [runId, leaseMs],
  )
  return rows
}

test('LEASE-04: a lease that ran out is requeued within a sweep, without backoff, and counted', async () => {
  const client = openClient(database)
  const { id } = await client.start(workflow)
  await claimByHand(database, id, { leaseMs })
  await startWorker(database, { workflows: [workflow] })
  expect(await client.result<unknown>(id)).toBe(2)

  const [lost] = await lostClaims(id)
  expect(lost).toMatchObject({ attempt: 1, outcome: 'lease_lost' })
  // Not before its time; and the second claim came although a backoff would last an hour.
  expect(lost?.ended_late_by).toBeGreaterThanOrEqual(0)
})

test('LEASE-04: on the last attempt the run fails with lease_expired, although nobody runs that workflow', async () => {
  const client = openClient(database)
  const { id } = await client.start(workflow, undefined, { maxAttempts: 2 })
  await startWorker(database, { workflows: [other] })
  for (const attempt of [1, 2]) {
    expect((await claimByHand(database, id)).claim.attempt).toBe(attempt)
    await expire(database, id)
    const state = attempt === 1 ? 'waiting' : 'failed'
    await vi.waitFor(async () => expect(await client.get(id)).toMatchObject({ state, attempt }), 10_000)
  }
  await expect(client.result(id)).rejects.toMatchObject({ failure: 'lease_expired' })
  expect(await client.get(id)).toMatchObject({ reason: 'The worker that ran it stopped renewing its lease.' })
})

test('LEASE-04: a renewal that comes before the sweep keeps the claim, however late it is', async () => {
  const client = openClient(database)
  const { id } = await client.start(workflow)
  const holder = await claimByHand(database, id)
  const swept = async (): Promise<unknown> =>
    (await database.query('select holdfast.end_leases(500, holdfast._now()) as n')).rows
  await expire(database, id)
  // The sweep skips a row that is being renewed just now.
  const session = await connect(database)
  await session.query('begin')
  await session.query('select * from holdfast.renew_leases($1, $2)', [
    holder.workerId,
    JSON.stringify([{ id, token: holder.claim.token, lease_ms: 30_000 }]),
  ])
  expect(await swept()).toEqual([{ n: 0 }])
  await session.query('commit')
  expect(await swept()).toEqual([{ n: 0 }])
  expect(await client.get(id)).toMatchObject({ state: 'running', attempt: 1 })
})

test('LEASE-04: a sweep ends what ran out among thousands of leases that did not', async () => {
  const client = openClient(database)
  await database.query(
    `insert into holdfast.runs (id, token, workflow, state, priority, attempt, max_attempts, created_at, due_at,
       claimed_at, lease_until, worker_id)
     select gen_random_uuid(), 1, 'expiring', 'running', 0, 1, 10, now(), now(), now(), now() + interval '1 hour', null
     from generate_series(1, 5000)`,
  )
  const { id } = await client.start(workflow)
  await claimByHand(database, id)
  await expire(database, id)
  await database.query('select holdfast.end_leases(10, holdfast._now())')
  expect(await client.get(id)).toMatchObject({ state: 'waiting' })
})
