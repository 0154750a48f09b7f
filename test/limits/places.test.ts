import { afterEach, expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { brokenInvariants, define, startIn, takeTickets } from '../support/limits.ts'
import { claim, claimFor, newWorker, pgArray, settle, type ClaimedRow } from '../support/runs.ts'

/** Places that are taken and given back at once, before it is known whether they are used. */

const database = useDatabase()

afterEach(async () => {
  expect(await brokenInvariants(database)).toEqual({})
})

let count = 0
const name = (): string => `places ${(count += 1)}`

async function live(session: Connection, workflow: string): Promise<Record<string, number>> {
  const lines = await session.query<{ group_key: string; live: number }>(
    'select group_key, live from holdfast.lines where workflow = $1',
    [workflow],
  )
  return Object.fromEntries(lines.map((line) => [line.group_key, line.live]))
}

/** A line is there once a claim was made in it. */
async function openLine(session: Connection, workflow: string): Promise<void> {
  const worker = newWorker()
  const [id = ''] = await startIn(session, workflow, 'g')
  await takeAll(session, worker, workflow)
  await settle(session, worker, [{ id, token: 1, outcome: 'done' }])
}

async function takeAll(session: Connection, worker: string, workflow: string): Promise<ClaimedRow[]> {
  return await claimFor(session, worker, await takeTickets(database, workflow), workflow)
}

test('LIMIT-03: a place taken for a ticket that comes to nothing is given back', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 2 })
  const [kept = '', cancelled = ''] = await startIn(session, workflow, 'g', 'h')
  const tickets = await takeTickets(database, workflow)
  const worker = newWorker()
  await claimFor(session, worker, tickets, workflow)
  await settle(session, worker, [{ id: cancelled, token: 1, outcome: 'done' }])

  expect(await claimFor(session, worker, [...tickets, ...tickets], workflow)).toEqual([])
  expect(await live(session, workflow)).toEqual({ g: 1, h: 0 })
  await settle(session, worker, [{ id: kept, token: 1, outcome: 'done' }])
  expect(await live(session, workflow)).toEqual({ g: 0, h: 0 })
})

test('LIMIT-03: the run of a ticket whose place a better one takes is set aside, and follows', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 1 })
  await openLine(session, workflow)
  const [better = '', other = ''] = await startIn(session, workflow, 'g', 'g')
  await takeTickets(database, workflow)
  const worker = newWorker()
  expect(await claimFor(session, worker, [{ run: other, group: 'g' }], workflow)).toMatchObject([{ id: better }])
  await settle(session, worker, [{ id: better, token: 1, outcome: 'done' }])
  expect(await takeAll(session, worker, workflow)).toMatchObject([{ id: other }])
})

test('LIMIT-01: of two claims at the same time, the second finds the places that are left', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const workflow = name()
  await define(a, workflow, { concurrencyPerGroup: 2 })
  await openLine(a, workflow)
  const [first, second, third] = (await startIn(a, workflow, 'g', 'g', 'g')) as [string, string, string]
  await takeTickets(database, workflow)
  const tickets = [first, second, third].map((run) => ({ run, group: 'g' }))
  await a.query('begin')
  expect(await claimFor(a, newWorker(), tickets.slice(0, 1), workflow)).toMatchObject([{ id: first }])
  const waiting = await b.block(claimFor(b, newWorker(), tickets.slice(1), workflow))
  await a.query('commit')
  expect(await waiting.done).toMatchObject([{ id: second }])
  expect(await live(a, workflow)).toEqual({ g: 2 })
})

test('LIMIT-01: a claim waits for a cancel under way in its line, and takes the place that it leaves', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const workflow = name()
  await define(a, workflow, { concurrencyPerGroup: 1 })
  await openLine(a, workflow)
  const [held = '', next = ''] = await startIn(a, workflow, 'g', 'g')
  await takeTickets(database, workflow)
  await claimFor(a, newWorker(), [{ run: held, group: 'g' }], workflow)
  await a.query('begin')
  await a.call('cancel_runs', pgArray([held]), null)
  const waiting = await b.block(claimFor(b, newWorker(), [{ run: next, group: 'g' }], workflow))
  await a.query('commit')
  expect(await waiting.done).toMatchObject([{ id: next }])
})

test('LIMIT-01: a cancel waits for a claim under way in its line, and counts it', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const workflow = name()
  await define(a, workflow, { concurrencyPerGroup: 2 })
  await openLine(a, workflow)
  const [held = '', next = ''] = await startIn(a, workflow, 'g', 'g')
  await takeTickets(database, workflow)
  await claimFor(a, newWorker(), [{ run: held, group: 'g' }], workflow)
  await a.query('begin')
  await claimFor(a, newWorker(), [{ run: next, group: 'g' }], workflow)
  const waiting = await b.block(b.call('cancel_runs', pgArray([held]), null))
  await a.query('commit')
  await waiting.done
  expect(await live(a, workflow)).toEqual({ g: 1 })
})

test('LIMIT-08: what waited for a line says that it ended or began after what it waited for', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const workflow = name()
  await define(a, workflow, { concurrencyPerGroup: 2 })
  await openLine(a, workflow)
  const [held = '', first = '', second = ''] = await startIn(a, workflow, 'g', 'g', 'g')
  await takeTickets(database, workflow)
  const worker = newWorker()
  const claimOne = async (session: Connection, run: string): Promise<ClaimedRow[]> =>
    await claimFor(session, worker, [{ run, group: 'g' }], workflow)
  await claimOne(a, held)

  const behind = async (act: (session: Connection) => Promise<unknown>, run: string): Promise<boolean> => {
    const waiting = await b.block(act(b))
    const [{ at } = { at: '' }] = await a.query<{ at: string }>('select clock_timestamp()::text as at')
    await a.query('commit')
    await waiting.done
    const rows = await a.query<{ late: boolean }>(
      'select greatest(claimed_at, ended_at) >= $2 as late from holdfast.runs where id = $1',
      [run, at],
    )
    return rows[0]?.late === true
  }
  await a.query('begin')
  await claimOne(a, first)
  expect(await behind((session) => settle(session, worker, [{ id: held, token: 1, outcome: 'done' }]), held)).toBe(true)
  await a.query('begin')
  await settle(a, worker, [{ id: first, token: 1, outcome: 'done' }])
  expect(await behind((session) => claimOne(session, second), second)).toBe(true)
})

test('LIMIT-01: a settle of a claim that was lost gives no place back', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 1 })
  const [lost = '', held = ''] = await startIn(session, workflow, 'g', 'h')
  const worker = newWorker()
  await takeAll(session, worker, workflow)
  const settled = await settle(session, worker, [
    { id: lost, token: 7, outcome: 'done' },
    { id: held, token: 1, outcome: 'done' },
  ])
  expect(settled).toMatchObject([{ n: 1 }])
  expect(await live(session, workflow)).toEqual({ g: 1, h: 0 })
})

test('LIMIT-01: neither does one beside a claim that no limit rules', async () => {
  const session = await connect(database)
  const [workflow, free] = [name(), name()]
  await define(session, workflow, { concurrencyPerGroup: 1 })
  await define(session, free, {})
  const [lost = ''] = await startIn(session, workflow, 'g')
  const [settled = ''] = await startIn(session, free, undefined)
  const worker = newWorker()
  await takeAll(session, worker, workflow)
  await claim(session, worker, [settled])
  await settle(session, worker, [
    { id: lost, token: 7, outcome: 'done' },
    { id: settled, token: 1, outcome: 'done' },
  ])
  expect(await live(session, workflow)).toEqual({ g: 1 })
})

test('LIMIT-03: claims and settles that name the same lines in opposite orders do not dead-lock', async () => {
  const workflow = name()
  const groups = Array.from({ length: 60 }, (_, place) => `g ${place}`)
  const sessions = [await connect(database), await connect(database)] as const
  await define(sessions[0], workflow, { concurrencyPerGroup: 2 })
  const rounds = 20
  for (let round = 0; round < rounds; round++) {
    await startIn(sessions[0], workflow, ...groups, ...groups)
    const tickets = await takeTickets(database, workflow)
    const orders = [tickets.slice(0, groups.length), tickets.slice(groups.length).toReversed()]
    const claimed = await Promise.all(
      sessions.map(async (session, place) => {
        const worker = newWorker()
        const claims = await claimFor(session, worker, orders[place] ?? [], workflow)
        const sorted = claims.toSorted((a, b) => (place === 0 ? 1 : -1) * (a.id < b.id ? -1 : 1))
        await settle(
          session,
          worker,
          sorted.map(({ id, token }) => ({ id, token, outcome: 'done' })),
        )
        return claims.length
      }),
    )
    expect(claimed.reduce((sum, claims) => sum + claims)).toBe(2 * groups.length)
  }
})

test('LIMIT-01: a settle hands no place over that a lowered limit has taken away', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 3 })
  const ids = await startIn(session, workflow, 'g', 'g', 'g', 'g', 'g')
  const worker = newWorker()
  await takeAll(session, worker, workflow)
  await session.call('set_limits', workflow, { concurrencyPerGroup: 2 }, 'an operator')
  const ask = async (id: string | undefined): Promise<unknown[]> =>
    await settle(session, worker, [{ id: id ?? '', token: 1, outcome: 'done', lease_ms: 30_000 }])
  expect(await ask(ids[0])).toEqual([])
  expect(await live(session, workflow)).toEqual({ g: 2 })
  expect(await ask(ids[1])).toMatchObject([{ id: ids[3] }])
})

test('LIMIT-03: a ticket for a set-aside run that is to be cancelled leaves nothing owed', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 1 })
  const [held = '', aside = ''] = await startIn(session, workflow, 'g', 'g')
  const worker = newWorker()
  await takeAll(session, worker, workflow)
  await settle(session, worker, [{ id: held, token: 1, outcome: 'done' }])
  await session.call('ask_cancels', pgArray([aside]), null)
  expect(await takeAll(session, worker, workflow)).toEqual([])
})
