import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { claimByHand, outcomes, sweepLeases } from '../support/claim-by-hand.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

interface WorkerRow {
  readonly ended_as: string | null
  readonly suspected: boolean
  readonly locks: number
}

async function workerRow(id: string): Promise<WorkerRow | undefined> {
  const { rows } = await database.query<WorkerRow>(
    `select ended_as, suspected_at is not null as suspected, (
      select count(*)::int from pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and l.locktype = 'advisory' and l.mode = 'ShareLock'
        and (l.classid::bigint << 32 | l.objid::bigint) = holdfast._presence_lock(w.id)) as locks
     from holdfast.workers w where id = $1`,
    [id],
  )
  return rows[0]
}

const alive = { ended_as: null, suspected: false, locks: 2 }

/** A run that a worker holds. */
async function holdRun(name: string): Promise<{ holderId: string; finish: () => Promise<number> }> {
  const [entered, go] = [signal(), signal()]
  const workflow = defineWorkflow({
    name,
    handler: async (_, run) => {
      entered.give()
      await go.promise
      return await run.step('last', () => run.attempt)
    },
  })
  const holder = await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const started = await client.start(workflow)
  await entered.promise
  const finish = (): Promise<number> => {
    go.give()
    return client.result(started)
  }
  return { holderId: holder.id, finish }
}

/** Ends sessions of a worker, and waits until the server has let go of what they held. */
async function terminate(workerId: string, sessions: readonly string[]): Promise<void> {
  const { rows } = await database.query<{ is_ended: boolean }>(
    `select pg_terminate_backend(pid, 5000) as is_ended from pg_stat_activity a
     where datname = current_database() and application_name = any($2) and exists (
       select from pg_locks l where l.pid = a.pid and l.locktype = 'advisory'
         and (l.classid::bigint << 32 | l.objid::bigint) = holdfast._presence_lock($1))`,
    [workerId, sessions],
  )
  expect(rows).toEqual(sessions.map(() => ({ is_ended: true })))
}

/** Looks for dead workers as another would. */
async function bury(): Promise<unknown> {
  return (await database.query('select dead, suspected from holdfast.bury_workers(gen_random_uuid(), holdfast._now())'))
    .rows[0]
}

/** Lets that time go by since a worker was first suspected. */
async function passSinceSuspicion(workerId: string, ms: number): Promise<void> {
  await database.query(
    `update holdfast.workers set suspected_at = coalesce(suspected_at, now()) - $2 * interval '1 ms' where id = $1`,
    [workerId, ms],
  )
}

test.each(['holdfast leases', 'holdfast listen'])(
  'OPS-03: a worker one of whose sessions is ended (%s) is not found dead, and goes on with its run',
  async (session) => {
    const { holderId, finish } = await holdRun(`ended ${session}`)
    expect(await workerRow(holderId)).toEqual(alive)
    // Were its lock free now, this would be the second test.
    await passSinceSuspicion(holderId, 500)
    await terminate(holderId, [session])
    expect(await bury()).toEqual({ dead: 0, suspected: 0 })
    await vi.waitFor(async () => expect(await workerRow(holderId)).toEqual(alive), 10_000)
    expect(await finish()).toBe(1)
  },
)

test('OPS-03: a worker both of whose sessions are ended takes its locks again before a second test', async () => {
  const { holderId, finish } = await holdRun('ended both')
  await terminate(holderId, ['holdfast leases', 'holdfast listen'])
  expect(await bury()).toMatchObject({ dead: 0 })
  await vi.waitFor(async () => expect((await workerRow(holderId))?.locks).toBe(2), 10_000)
  await passSinceSuspicion(holderId, 500)
  expect(await bury()).toEqual({ dead: 0, suspected: 0 })
  expect(await workerRow(holderId)).toEqual(alive)
  expect(await finish()).toBe(1)
})

test('LEASE-09: dead is written only after two free tests, 500 ms apart', async () => {
  const { rows } = await database.query<{ id: string }>(
    `insert into holdfast.workers (id, name, workflows, slots, lease, pool_ids, postmaster_started_at, started_at, seen_at)
     values (gen_random_uuid(), 'gone', '{}', 1, '30 s', '{}', pg_postmaster_start_time(), now(), now()) returning id`,
  )
  const id = rows[0]?.id ?? ''

  expect(await bury()).toEqual({ dead: 0, suspected: 1 })
  expect(await bury()).toEqual({ dead: 0, suspected: 1 })
  // Its lock is held again in between: the count begins anew.
  const session = await connect(database)
  await session.query('select holdfast.hold_presence($1)', [id])
  await passSinceSuspicion(id, 500)
  expect(await bury()).toEqual({ dead: 0, suspected: 0 })
  await session.query('select pg_advisory_unlock_all()')

  expect(await bury()).toEqual({ dead: 0, suspected: 1 })
  await passSinceSuspicion(id, 500)
  expect(await bury()).toEqual({ dead: 1, suspected: 0 })
  expect(await workerRow(id)).toMatchObject({ ended_as: 'dead' })
})

test('OPS-03: after a restart of the server, whose locks are all free, only time tells that a worker is dead', async () => {
  const { rows } = await database.query<{ id: string }>(
    `insert into holdfast.workers (id, name, workflows, slots, lease, pool_ids, postmaster_started_at, started_at, seen_at)
     values (gen_random_uuid(), 'of before', '{}', 1, '30 s', '{}', pg_postmaster_start_time() - interval '1 s', now(), now())
     returning id`,
  )
  const id = rows[0]?.id ?? ''
  expect(await bury()).toEqual({ dead: 0, suspected: 0 })
  await database.query(`update holdfast.workers set seen_at = now() - interval '59 s' where id = $1`, [id])
  expect(await bury()).toEqual({ dead: 0, suspected: 0 })
  await database.query(`update holdfast.workers set seen_at = now() - interval '60 s' where id = $1`, [id])
  expect(await bury()).toEqual({ dead: 1, suspected: 0 })
})

test('OPS-02: a worker that was stopped says so, and leaves no ticket locked', async () => {
  const workflow = defineWorkflow({ name: 'said good-bye', handler: () => undefined })
  const worker = await startWorker(database, { workflows: [workflow] })
  expect(await workerRow(worker.id)).toEqual(alive)
  await worker.stop()
  expect(await workerRow(worker.id)).toEqual({ ended_as: 'stopped', suspected: false, locks: 0 })
  const { rows } = await database.query('select from holdfast_queue._private_jobs where locked_by is not null')
  expect(rows).toEqual([])
})

test('LEASE-10: a worker found dead loses the claims it had; those it takes afterwards show that it lives', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({ name: 'of the dead', handler: () => undefined })
  const [had, taken] = [await client.start(workflow), await client.start(workflow)]
  const before = await claimByHand(database, had.id)
  const { workerId } = before
  await database.query(
    `insert into holdfast.workers (id, name, workflows, slots, lease, pool_ids, started_at, seen_at, ended_at, ended_as)
     values ($1, 'frozen', '{}', 1, '30 s', '{}', now(), now(), now(), 'dead')`,
    [workerId],
  )
  const after = await claimByHand(database, taken.id, { workerId })
  expect(await sweepLeases(database)).toBe(1)
  expect(await before.renew()).toBe('not_found')
  expect(await workerRow(workerId)).toMatchObject({ ended_as: null })
  expect(await sweepLeases(database)).toBe(0)
  expect(await after.settle(outcomes.done)).toBeUndefined()
})
