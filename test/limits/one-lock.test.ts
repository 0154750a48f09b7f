import { afterEach, expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { brokenInvariants, define, startIn, takeTickets } from '../support/limits.ts'
import { claimFor, newWorker, pgArray, settle, type ClaimedRow } from '../support/runs.ts'

const database = useDatabase()

afterEach(async () => {
  expect(await brokenInvariants(database)).toEqual({})
})

let count = 0
const name = (): string => `limited ${(count += 1)}`

async function take(session: Connection, workflow: string, limit?: number): Promise<ClaimedRow[]> {
  return await claimFor(session, newWorker(), await takeTickets(database, workflow, limit), workflow)
}

async function liveOf(session: Connection, workflow: string): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select id from holdfast.runs where workflow = $1 and state = 'running' order by id`,
    [workflow],
  )
  return rows.map(({ id }) => id)
}

test('LIMIT-01: of two claims at the same time, the second waits for the line and finds the place taken', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const workflow = name()
  await define(a, workflow, { concurrencyPerGroup: 1 })
  const [first, second] = (await startIn(a, workflow, 'g', 'g')) as [string, string]
  await takeTickets(database, workflow)
  await a.query('begin')
  expect(await claimFor(a, newWorker(), [{ run: second, group: 'g' }], workflow)).toMatchObject([{ id: first }])
  const waiting = await b.block(claimFor(b, newWorker(), [{ run: first, group: 'g' }], workflow))
  await a.query('commit')
  expect(await waiting.done).toEqual([])
  expect(await liveOf(a, workflow)).toEqual([first])
})

test('LIMIT-01: with the count in the statement that locks, both would have got it', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  await a.query('create table if not exists places (id int primary key, taken int)')
  await a.query('insert into places values (1, 0)')
  await a.query('create table if not exists taken (by text)')
  const enter = `insert into taken select $1 from (select from places where id = 1 for update) p
    where (select count(*) from taken) < 1`
  await a.query('begin')
  await a.query(enter, ['a'])
  const waiting = await b.block(b.query(enter, ['b']))
  await a.query('commit')
  await waiting.done
  expect(await a.query('select by from taken order by by')).toEqual([{ by: 'a' }, { by: 'b' }])
})

const kinds = [
  { kind: 'a workflow', limits: { concurrency: 1 } },
  { kind: 'a group', limits: { concurrencyPerGroup: 1 } },
  { kind: 'a workflow and a group', limits: { concurrency: 3, concurrencyPerGroup: 1 } },
  { kind: 'a fair workflow', limits: { concurrency: 1, isFair: true } },
] as const

test.each(kinds)(
  'LIMIT-03: of $kind, what finds no room is set aside, and a settle brings its ticket',
  async ({ limits }) => {
    const session = await connect(database)
    const workflow = name()
    await define(session, workflow, limits)
    const ids = await startIn(session, workflow, 'g', 'g', 'g')
    const worker = newWorker()
    for (const id of ids) {
      const claimed = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
      expect(claimed).toMatchObject([{ id, token: 1 }])
      expect(await takeTickets(database, workflow)).toEqual([])
      expect(await brokenInvariants(database)).toEqual({})
      await settle(session, worker, [{ id, token: 1, outcome: 'done' }])
    }
    expect(await takeTickets(database, workflow)).toEqual([])
  },
)

test.each(kinds)('LIMIT-03: of $kind, a settle that asks for it gets the next of its line', async ({ limits }) => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, limits)
  const [first, second, third] = (await startIn(session, workflow, 'g', 'g', 'g')) as [string, string, string]
  const worker = newWorker()
  await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  const next = await settle(session, worker, [{ id: first, token: 1, outcome: 'done', lease_ms: 30_000 }])
  expect(next).toMatchObject([{ n: null, id: second, token: 1 }])
  expect(await takeTickets(database, workflow)).toEqual([])
  const last = await settle(session, worker, [{ id: second, token: 1, outcome: 'done', lease_ms: 30_000 }])
  expect(last).toMatchObject([{ n: null, id: third, token: 1 }])
  expect(await settle(session, worker, [{ id: third, token: 1, outcome: 'done', lease_ms: 30_000 }])).toEqual([])
})

const leavings: readonly {
  how: string
  leave: (session: Connection, worker: string, id: string) => Promise<unknown>
}[] = [
  { how: 'is done', leave: (session, worker, id) => settle(session, worker, [{ id, token: 1, outcome: 'done' }]) },
  {
    how: 'fails',
    leave: (session, worker, id) =>
      settle(session, worker, [{ id, token: 1, outcome: 'failed', details: { failure: 'rejected' } }]),
  },
  {
    how: 'is to be tried again',
    leave: (session, worker, id) =>
      settle(session, worker, [{ id, token: 1, outcome: 'retry', details: { delay_ms: 3_600_000 } }]),
  },
  {
    how: 'snoozes',
    leave: (session, worker, id) =>
      settle(session, worker, [{ id, token: 1, outcome: 'snooze', details: { delay_ms: 3_600_000 } }]),
  },
  {
    how: 'suspends',
    leave: (session, worker, id) => settle(session, worker, [{ id, token: 1, outcome: 'suspended', details: {} }]),
  },
  { how: 'is cancelled', leave: (session, _, id) => session.call('cancel_runs', pgArray([id]), null) },
  {
    how: 'loses its lease on its last attempt',
    leave: async (session, _, id) => {
      await session.query(`update holdfast.runs set lease_until = '-infinity', attempt = 10 where id = $1`, [id])
      await session.call('end_leases', 100, 'now')
    },
  },
  {
    how: 'is cancelled by a transaction',
    leave: async (session, _, id) => {
      await session.call('ask_cancels', pgArray([id]), null)
      await session.call('promote_due', 100)
    },
  },
]

test.each(leavings)('LIMIT-03: a holder that $how gives its place to the next', async ({ leave }) => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 1 })
  const [first, second] = (await startIn(session, workflow, 'g', 'g', 'g')) as [string, string]
  const worker = newWorker()
  await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  await leave(session, worker, first)
  expect(await brokenInvariants(database)).toEqual({})
  expect(await take(session, workflow)).toMatchObject([{ id: second }])
})

test('LIMIT-03: a holder that is given back takes its place again before those after it', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 1 })
  const [first] = (await startIn(session, workflow, 'g', 'g')) as [string]
  const worker = newWorker()
  await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  await settle(session, worker, [{ id: first, token: 1, outcome: 'released' }])
  expect(await take(session, workflow)).toMatchObject([{ id: first, token: 3 }])
})

test('LIMIT-03: the ticket of a run that was cancelled looks at its line all the same', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 1 })
  const [holder, next, last] = (await startIn(session, workflow, 'g', 'g', 'g')) as [string, string, string]
  const worker = newWorker()
  await claimFor(session, worker, await takeTickets(database, workflow, 1), workflow)
  // Its ticket is in a worker's hands while the other two change.
  const [inHand, ...rest] = await takeTickets(database, workflow)
  expect(inHand).toEqual({ run: next, group: 'g' })
  await claimFor(session, newWorker(), rest, workflow)
  await session.call('cancel_runs', pgArray([next]), null)
  await settle(session, worker, [{ id: holder, token: 1, outcome: 'done' }])
  await takeTickets(database, workflow)
  expect(await claimFor(session, newWorker(), [inHand as { run: string; group: string }], workflow)).toMatchObject([
    { id: last },
  ])
})

test('LIMIT-03: a start that is looked at while the last holder leaves is not forgotten', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const workflow = name()
  await define(a, workflow, { concurrency: 1 })
  const [holder] = (await startIn(a, workflow, undefined)) as [string]
  const worker = newWorker()
  await claimFor(a, worker, await takeTickets(database, workflow), workflow)
  const [next] = (await startIn(a, workflow, undefined)) as [string]
  const tickets = await takeTickets(database, workflow)
  await a.query('begin')
  await settle(a, worker, [{ id: holder, token: 1, outcome: 'done' }])
  const waiting = await b.block(claimFor(b, newWorker(), tickets, workflow))
  await a.query('commit')
  expect(await waiting.done).toMatchObject([{ id: next }])
})
