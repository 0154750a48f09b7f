import { expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { readsIn, type Reads } from '../support/reads.ts'
import { claim, keep, memo, newWorker, pgArray, settle, startItem } from '../support/runs.ts'

const database = useDatabase()
const worker = newWorker()
const batch = 32
/** Of a row that a call is about, no more than a few versions and look-ups are read. */
const mostReads = batch * 12

const readsOf = (session: Connection, work: () => Promise<unknown>): Promise<Reads> => readsIn(['runs'], session, work)

/** Takes a batch of runs through their lives and reports what each call read. */
async function live(session: Connection): Promise<Record<string, Reads>> {
  const items = Array.from({ length: batch }, () => startItem())
  const ids = items.map((item) => item.id)
  const leases = ids.map((id) => ({ id, token: 1, lease_ms: 60_000 }))
  const done = ids.map((id) => ({ id, token: 1, outcome: 'done', output: '1' }))
  return {
    start: await readsOf(session, () => session.call('start_runs', items)),
    claim: await readsOf(session, () => claim(session, worker, ids)),
    keep: await readsOf(session, () =>
      keep(
        session,
        ids.map((id) => memo(id, 1)),
      ),
    ),
    renew: await readsOf(session, () => session.call('renew_leases', worker, leases)),
    settle: await readsOf(session, () => settle(session, worker, done)),
  }
}

/** Runs that have ended, waited for a worker, and not begun: what a query must not wade through. */
async function grow(session: Connection, count: number): Promise<void> {
  await session.query(
    `insert into holdfast.runs (id, workflow, state, priority, max_attempts, created_at, due_at, token, ended_at)
     select gen_random_uuid(), 'sample', case when n % 2 = 0 then 'done' else 'waiting' end, 0, 10, now(), now(), 2,
       case when n % 2 = 0 then now() end
     from generate_series(1, $1::int) n`,
    [count],
  )
}

function expectFewReads(reads: Record<string, Reads>): void {
  for (const [call, { scans, fetched }] of Object.entries(reads)) {
    expect({ call, scans, fetched: Math.max(fetched, mostReads) }).toEqual({ call, scans: 0, fetched: mostReads })
  }
}

test('plans made on empty tables read only their own rows once the tables have grown', async () => {
  const session = await connect(database)
  // Six times, since Postgres settles on a cached plan after five.
  for (let round = 0; round < 6; round += 1) await live(session)
  await grow(session, 20_000)
  expectFewReads(await live(session))
})

test('looking, listing, reserving and pruning read about what they answer, however much there is', async () => {
  const session = await connect(database)
  const items = Array.from({ length: batch }, () => startItem())
  const ids = pgArray(items.map(({ id }) => id))
  await session.call('start_runs', items)
  const ended = items[0]?.id
  await session.call('cancel_runs', pgArray([ended ?? '']), null)
  const call = (name: string, ...values: unknown[]) => readsOf(session, () => session.call(name, ...values))
  const look = async (): Promise<Record<string, Reads>> => ({
    // Of a run that does not wait: of one that does, those before it are counted, up to 10,000.
    find: await call('find_run', ended, null, null),
    look: await call('look_at_runs', null, ids),
    list: await call('list_runs', {}, 'ffffffff-ffff-ffff-ffff-ffffffffffff', batch, batch),
    failed: await call('list_runs', { states: ['failed'] }, 'ffffffff-ffff-ffff-ffff-ffffffffffff', batch, 10_000),
    reserve: await call('reserve_runs', newWorker(), '{sample}', batch, null),
    prune: await call('prune_runs', 500),
    promote: await call('promote_due', 500),
  })
  for (let round = 0; round < 6; round += 1) await look()
  await grow(session, 20_000)
  expectFewReads(await look())
})

test('plans made while statistics say that nothing runs read only their own rows', async () => {
  const session = await connect(database)
  await grow(session, 5_000)
  await session.query('analyze holdfast.runs')
  for (let round = 0; round < 6; round += 1) expectFewReads(await live(session))
})
