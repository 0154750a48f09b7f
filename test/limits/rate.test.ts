import { afterEach, expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { brokenInvariants, define, startIn, takeTickets } from '../support/limits.ts'
import { claimFor, newWorker, settle } from '../support/runs.ts'

const database = useDatabase()

afterEach(async () => {
  expect(await brokenInvariants(database)).toEqual({})
})

let count = 0
const name = (): string => `rated ${(count += 1)}`

/** Moves what a line remembers of its starts back in time, as if so long had passed. */
async function pass(session: Connection, workflow: string, ms: number): Promise<void> {
  await session.query(
    `update holdfast.lines
     set at = at - $2 * interval '1 ms', open_at = open_at - $2 * interval '1 ms', ring =
       row(array(select s - $2 * interval '1 ms' from unnest((ring).starts_at) s), (ring).counts)::holdfast.ring
     where workflow = $1`,
    [workflow, ms],
  )
}

const kinds = [
  { kind: 'a workflow', limits: { rate: { limit: 2, perMs: 60_000 } } },
  { kind: 'a group', limits: { ratePerGroup: { limit: 2, perMs: 60_000 } } },
  { kind: 'a group under a workflow', limits: { concurrency: 9, ratePerGroup: { limit: 2, perMs: 60_000 } } },
  { kind: 'a workflow of groups', limits: { concurrencyPerGroup: 9, rate: { limit: 2, perMs: 60_000 } } },
] as const

test.each(kinds)(
  'LIMIT-02: of $kind, no more begin than the rate lets, and the next as its window moves',
  async ({ limits }) => {
    const session = await connect(database)
    const workflow = name()
    await define(session, workflow, limits)
    const ids = await startIn(session, workflow, 'g', 'g', 'g', 'g', 'g')
    const worker = newWorker()
    const claimed = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
    expect(claimed.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    for (const { id } of claimed) await settle(session, worker, [{ id, token: 1, outcome: 'done' }])
    expect(await takeTickets(database, workflow)).toEqual([])

    await pass(session, workflow, 59_000)
    await session.call('promote_due', 100)
    expect(await takeTickets(database, workflow)).toEqual([])
    const [{ next_ms: nextMs }] = (await session.call('promote_due', 100)) as [{ next_ms: number }]
    expect(nextMs).toBeGreaterThan(0)
    expect(nextMs).toBeLessThanOrEqual(1_000)

    await pass(session, workflow, 1_000)
    await session.call('promote_due', 100)
    const tickets = await takeTickets(database, workflow)
    expect(tickets).toHaveLength(2)
    const next = await claimFor(session, worker, tickets, workflow)
    expect(next.map(({ id }) => id)).toEqual(ids.slice(2, 4))
  },
)

test('LIMIT-02: retries, snoozes and take-overs count as starts, what goes on after a wait or a stop does not', async () => {
  const session = await connect(database)
  const outcomes = [
    { outcome: 'retry', details: { delay_ms: 0 }, counts: true },
    { outcome: 'snooze', details: { delay_ms: 0 }, counts: true },
    { outcome: 'suspended', details: { delay_ms: 0 }, counts: false },
    { outcome: 'released', details: undefined, counts: false },
  ]
  for (const { outcome, details, counts } of outcomes) {
    const workflow = name()
    await define(session, workflow, { rate: { limit: 2, perMs: 3_600_000 } })
    const [id] = (await startIn(session, workflow, undefined)) as [string]
    const worker = newWorker()
    for (const token of [1, 3]) {
      expect(await claimFor(session, worker, await takeTickets(database, workflow), workflow)).toHaveLength(1)
      await settle(session, worker, [{ id, token, outcome, ...(details && { details }) }])
    }
    await startIn(session, workflow, undefined)
    const again = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
    expect({ outcome, again: again.length }).toEqual({ outcome, again: counts ? 0 : 2 })
  }
})

test('LIMIT-06: a run that woke goes before those the rate holds back, however many, and takes a slot again', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 1, ratePerGroup: { limit: 2, perMs: 3_600_000 } })
  const [sleeper, holder] = (await startIn(session, workflow, 'g', 'g', 'g', 'g', 'g')) as [string, string]
  const worker = newWorker()
  await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  // It holds no slot while it sleeps: another takes its place.
  await settle(session, worker, [{ id: sleeper, token: 1, outcome: 'suspended', details: { delay_ms: 3_600_000 } }])
  expect(await claimFor(session, worker, await takeTickets(database, workflow), workflow)).toMatchObject([
    { id: holder },
  ])
  await session.query(`update holdfast.runs set due_at = now() where id = $1`, [sleeper])
  await session.call('promote_due', 100)
  // It finds its slot taken, and gets it before those that the rate does not let begin.
  expect(await claimFor(session, worker, await takeTickets(database, workflow), workflow)).toEqual([])
  await settle(session, worker, [{ id: holder, token: 1, outcome: 'done' }])
  const woken = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  expect(woken).toMatchObject([{ id: sleeper, token: 3, attempt: 1 }])
})

test('LIMIT-02: a rate above 199 shares instants among a hundredth of it, and never lets more begin', async () => {
  const session = await connect(database)
  const [row] = await session.query<{ used: number; instants: number }>(
    `with recursive starts as (
       select 0 as n, null::holdfast.ring as ring
       union all
       select n + 1, holdfast._ring_add(ring, 1000, '1 h', '2030-01-01'::timestamptz + n * interval '1 s', 1)
       from starts where n < 1000
     )
     select 1000 - holdfast._rate_left(1000, '1 h', ring, '2030-01-01 00:20'::timestamptz) as used,
       cardinality((ring).starts_at) as instants
     from starts where n = 1000`,
  )
  expect(row).toEqual({ used: 1_000, instants: 100 })
})

test('LIMIT-02: a clock that goes back opens no window', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { rate: { limit: 1, perMs: 60_000 } })
  const ids = await startIn(session, workflow, undefined, undefined)
  await pass(session, workflow, -3_600_000)
  await session.query(`update holdfast.lines set at = now() + interval '1 h' where workflow = $1`, [workflow])
  const worker = newWorker()
  await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  const [run] = await session.query(
    `select claimed_at > now() + interval '59 minutes' as is_later from holdfast.runs where id = $1`,
    [ids[0]],
  )
  expect(run).toEqual({ is_later: true })
})
