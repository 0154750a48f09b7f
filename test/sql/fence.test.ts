import { expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { claim, keep, memo, newWorker, runningRuns, settle } from '../support/runs.ts'

const database = useDatabase()

async function takeOver(session: Connection, id: string): Promise<void> {
  await session.query(`update holdfast.runs set lease_until = '-infinity' where id = $1`, [id])
  await session.call('end_leases', 100, 'now')
  expect(await claim(session, newWorker(), [id])).toMatchObject([{ token: 3 }])
}

async function stepsOf(session: Connection, id: string): Promise<unknown[]> {
  return await session.query('select key, token from holdfast.steps where run_id = $1', [id])
}

test('a step written by a join on the token alone commits after the run was taken over', async () => {
  const [stale, other] = [await connect(database), await connect(database)]
  const [id] = (await runningRuns(stale, newWorker(), 1)) as [string]
  await stale.query('begin')
  await stale.query(
    `insert into holdfast.steps (run_id, key, kind, seq, ordinal, attempt, token, tries, kept_at, value)
     select id, 'stale', 'answer', 1, 1, attempt, token, 1, now(), '1' from holdfast.runs where id = $1 and token = 1`,
    [id],
  )
  await takeOver(other, id)
  await stale.query('commit')
  expect(await stepsOf(other, id)).toEqual([{ key: 'stale', token: 1 }])
})

test('STEP-02: a take-over waits for a step that is being kept, and then sees it', async () => {
  const [owner, other] = [await connect(database), await connect(database)]
  const [id] = (await runningRuns(owner, newWorker(), 1)) as [string]
  await owner.query('begin')
  expect(await keep(owner, [memo(id, 1)])).toEqual([])
  await other.query(`update holdfast.runs set lease_until = '-infinity' where id = $1`, [id])
  const [{ end_leases: skipped }] = (await other.call('end_leases', 100, 'now')) as [{ end_leases: number }]
  expect(skipped).toBe(0)
  const waiting = await other.block(other.call('cancel_runs', `{${id}}`, null))
  await owner.query('commit')
  await waiting.done
  expect(await stepsOf(other, id)).toEqual([{ key: 'step', token: 1 }])
})

type End = (session: Connection, id: string, worker: string) => Promise<unknown>

async function sweep(session: Connection, id: string): Promise<void> {
  await session.query(`update holdfast.runs set lease_until = '-infinity' where id = $1`, [id])
  expect(await session.call('end_leases', 100, 'now')).toEqual([{ end_leases: 1 }])
}

/** Everything that raises a running run's token. */
const ends: readonly { end: string; by: End; lost: 'superseded' | 'not_found' }[] = [
  { end: 'a take-over', by: takeOver, lost: 'superseded' },
  { end: 'a sweep', by: sweep, lost: 'not_found' },
  {
    end: 'a settle',
    by: (session, id, worker) => settle(session, worker, [{ id, token: 1, outcome: 'done', output: '1' }]),
    lost: 'not_found',
  },
  { end: 'a cancel', by: (session, id) => session.call('cancel_runs', `{${id}}`, null), lost: 'not_found' },
]

test.each(ends)('LEASE-05: a step that meets $end under way waits for it and is refused', async ({ by, lost }) => {
  const [owner, other] = [await connect(database), await connect(database)]
  const worker = newWorker()
  const [id] = (await runningRuns(owner, worker, 1)) as [string]
  await other.query('begin')
  await by(other, id, worker)
  const waiting = await owner.block(keep(owner, [memo(id, 1)]))
  await other.query('commit')
  expect(await waiting.done).toMatchObject([{ n: 1, lost }])
  expect(await stepsOf(other, id)).toEqual([])
})

test('a step that is being kept does not hold up the renewal of its lease', async () => {
  const [owner, renewing] = [await connect(database), await connect(database)]
  const worker = newWorker()
  const [id] = (await runningRuns(owner, worker, 1)) as [string]
  await owner.query('begin')
  await keep(owner, [memo(id, 1)])
  expect(await renewing.call('renew_leases', worker, [{ id, token: 1, lease_ms: 1_000 }])).toMatchObject([
    { id, problem: null },
  ])
  await owner.query('commit')
})

test('one locked row stops an ordinary renewal of all; ours skips it and renews the others', async () => {
  const [holder, renewing] = [await connect(database), await connect(database)]
  const worker = newWorker()
  const ids = (await runningRuns(holder, worker, 3)) as [string, string, string]
  await holder.query('begin')
  await holder.query('select from holdfast.runs where id = $1 for update', [ids[1]])

  await renewing.query(`set lock_timeout = '100ms'`)
  await expect(
    renewing.query('update holdfast.runs set lease_until = now() where id = any($1)', [ids]),
  ).rejects.toMatchObject({ code: '55P03' })

  const items = ids.map((id) => ({ id, token: 1, lease_ms: 86_400_000 }))
  const answers = await renewing.call<{ id: string; problem: string | null }>('renew_leases', worker, items)
  const problems = new Map(answers.map(({ id, problem }) => [id, problem]))
  expect(ids.map((id) => problems.get(id))).toEqual([null, 'skipped', null])
  await holder.query('rollback')
  const renewed = await holder.query(
    `select id from holdfast.runs where id = any($1) and lease_until > now() + interval '1 hour' order by id`,
    [ids],
  )
  expect(renewed).toEqual([{ id: ids[0] }, { id: ids[2] }])
})

test('a renewal says which claims are lost, and why', async () => {
  const session = await connect(database)
  const worker = newWorker()
  const [gone, taken] = (await runningRuns(session, worker, 2)) as [string, string]
  await settle(session, worker, [{ id: gone, token: 1, outcome: 'done' }])
  await takeOver(session, taken)
  const items = [gone, taken].map((id) => ({ id, token: 1, lease_ms: 1_000 }))
  expect(await session.call('renew_leases', worker, items)).toEqual([
    { id: gone, token: 1, problem: 'not_found', lease_until_ms: null },
    { id: taken, token: 1, problem: 'superseded', lease_until_ms: null },
  ])
})
