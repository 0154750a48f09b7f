import { expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { claim, keep, memo, newWorker, openWaits, pgArray, runningRuns, settle, waitingRuns } from '../support/runs.ts'

const database = useDatabase()
const worker = newWorker()

type State = 'waiting' | 'running' | 'failed'

interface Case {
  readonly from: State
  readonly call: (session: Connection, ids: readonly string[]) => Promise<unknown>
}

/** Every function that locks several runs and waits for them. */
const cases: Readonly<Record<string, Case>> = {
  claim_runs: {
    from: 'waiting',
    call: (session, ids) => claim(session, worker, ids),
  },
  keep_steps: {
    from: 'running',
    call: (session, ids) =>
      keep(
        session,
        ids.map((id) => memo(id, 1)),
      ),
  },
  keep_progress: {
    from: 'running',
    call: (session, ids) => {
      const items = ids.map((id) => ({ id, token: 1, value: '1' }))
      return session.call('keep_progress', items)
    },
  },
  open_waits: {
    from: 'running',
    call: (session, ids) =>
      openWaits(
        session,
        ids.map((id) => ({ id, token: 1 })),
      ),
  },
  settle_runs: {
    from: 'running',
    call: (session, ids) =>
      settle(
        session,
        worker,
        ids.map((id) => ({ id, token: 1, outcome: 'done' })),
      ),
  },
  cancel_runs: { from: 'running', call: (session, ids) => session.call('cancel_runs', pgArray(ids), null) },
  retry_runs: { from: 'failed', call: (session, ids) => session.call('retry_runs', pgArray(ids), false) },
  delete_runs: { from: 'failed', call: (session, ids) => session.call('delete_runs', pgArray(ids)) },
  extend_leases: {
    from: 'running',
    call: (session, ids) => session.call('extend_leases', pgArray(ids), '{1,1}', '{1000,1000}'),
  },
  return_tickets: {
    from: 'waiting',
    call: (session, ids) => session.call('return_tickets', pgArray(ids), '{sample,sample}', '{null,null}'),
  },
}

async function runsIn(state: State, session: Connection): Promise<string[]> {
  if (state === 'waiting') return await waitingRuns(session, 2)
  const ids = await runningRuns(session, worker, 2)
  const failed = ids.map((id) => ({ id, token: 1, outcome: 'failed', details: { failure: 'rejected' } }))
  if (state === 'failed') await settle(session, worker, failed)
  return ids
}

test('two sessions that lock the same rows in opposite orders dead-lock', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const [low, high] = (await waitingRuns(a, 2)) as [string, string]
  const lock = (session: Connection, id: string): Promise<unknown> =>
    session.query('select from holdfast.runs where id = $1 for update', [id])
  for (const session of [a, b]) await session.query('begin')
  await lock(a, low)
  await lock(b, high)
  const waiting = await a.block(lock(a, high))
  const outcomes = await Promise.allSettled([lock(b, low), waiting.done])
  expect(outcomes.find((outcome) => outcome.status === 'rejected')).toMatchObject({ reason: { code: '40P01' } })
  for (const session of [a, b]) await session.query('rollback')
})

/** While the first in the order is held, the function waits for it and must not hold the second yet. */
async function expectOrder(name: string, swapDepths: boolean): Promise<void> {
  const { from, call } = cases[name] as Case
  const [holder, caller, witness] = [await connect(database), await connect(database), await connect(database)]
  const [low, high] = (await runsIn(from, holder)) as [string, string]
  if (swapDepths) await holder.query('update holdfast.runs set depth = 1 where id = $1', [low])
  const [first, second] = swapDepths ? [high, low] : [low, high]

  await holder.query('begin')
  await holder.query('select from holdfast.runs where id = $1 for update', [first])
  const waiting = await caller.block(call(caller, [second, first]))
  await witness.query('begin')
  const free = await witness.query('select id from holdfast.runs where id = $1 for update skip locked', [second])
  await witness.query('rollback')
  await holder.query('rollback')
  await waiting.done
  expect(free).toEqual([{ id: second }])
}

test.each(Object.keys(cases))('%s locks runs by rising id, whatever order they are given in', async (name) => {
  await expectOrder(name, false)
})

test.each(Object.keys(cases))('%s locks parents before children', async (name) => {
  await expectOrder(name, true)
})
