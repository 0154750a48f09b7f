import { afterEach, expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { brokenInvariants, define, startIn, takeTickets, type GivenLimits } from '../support/limits.ts'
import { claimFor, newWorker, pgArray, settle, startItem } from '../support/runs.ts'

const database = useDatabase()

afterEach(async () => {
  expect(await brokenInvariants(database)).toEqual({})
})

let count = 0

async function workflowWith(session: Connection, limits: GivenLimits): Promise<string> {
  const workflow = `ordered ${(count += 1)}`
  await define(session, workflow, limits)
  return workflow
}

/** Claims and ends one run after the other until none is left, by the tickets that come, and answers their groups. */
async function play(session: Connection, workflow: string): Promise<string[]> {
  const worker = newWorker()
  const order: string[] = []
  for (let tickets; (tickets = await takeTickets(database, workflow)).length > 0;) {
    for (const { id, token, group_key: group } of await claimFor(session, worker, tickets, workflow)) {
      order.push(group ?? id)
      await settle(session, worker, [{ id, token, outcome: 'done' }])
    }
  }
  return order
}

test('LIMIT-05: in a group, the higher priority goes first, then the earlier due, whatever ticket comes first', async () => {
  const session = await connect(database)
  const workflow = await workflowWith(session, { concurrencyPerGroup: 1 })
  const items = [0, 5, -3, 5].map((priority) => startItem({ workflow, group_key: 'g', priority }))
  await session.call('start_runs', items)
  const [low, first, last, second] = items.map(({ id }) => id)
  const worker = newWorker()
  const order: string[] = []
  // Each time the worst ticket is looked at first.
  const tickets = (await takeTickets(database, workflow)).toReversed()
  for (const ticket of tickets) {
    const [claimed] = await claimFor(session, worker, [ticket], workflow)
    if (!claimed) continue
    order.push(claimed.id)
    for (let run: { id: string; token: number } | undefined = claimed; run;) {
      const ended = { id: run.id, token: run.token, outcome: 'done', lease_ms: 30_000 }
      run = (await settle(session, worker, [ended]))[0] as { id: string; token: number } | undefined
      if (run) order.push(run.id)
    }
  }
  expect(order).toEqual([first, second, low, last])
})

test('LIMIT-05: between groups that have room, the order is the same; a full group is passed over', async () => {
  const session = await connect(database)
  const workflow = await workflowWith(session, { concurrency: 2, concurrencyPerGroup: 1 })
  const [a1, , , b1, c1] = await startIn(session, workflow, 'a', 'a', 'a', 'b', 'c')
  const worker = newWorker()
  const taken = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  expect(taken.map(({ id }) => id)).toEqual([a1, b1])
  await settle(session, worker, [{ id: b1 as string, token: 1, outcome: 'done' }])
  // Group a is full, however much waits there; c is the best with room.
  const next = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  expect(next.map(({ id }) => id)).toEqual([c1])
})

test('LIMIT-05: fair: groups take turns, and one that comes late gets the next', async () => {
  const session = await connect(database)
  const workflow = await workflowWith(session, { concurrency: 1, isFair: true })
  await startIn(session, workflow, 'greedy', 'greedy', 'greedy', 'greedy', 'greedy', 'greedy')
  const worker = newWorker()
  const [first] = await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  await startIn(session, workflow, 'small', 'other')
  await settle(session, worker, [{ id: first?.id ?? '', token: 1, outcome: 'done' }])
  const order = await play(session, workflow)
  expect(order.slice(0, 2).toSorted()).toEqual(['other', 'small'])
  expect(order.slice(2)).toEqual(Array.from({ length: 5 }, () => 'greedy'))
})

test('LIMIT-05: fair: without a limit too, a group whose ticket stands behind many of another is found', async () => {
  const session = await connect(database)
  const workflow = await workflowWith(session, { isFair: true })
  await startIn(session, workflow, ...Array.from({ length: 50 }, () => 'greedy'), 'small')
  const worker = newWorker()
  const tickets = await takeTickets(database, workflow, 2)
  const claimed = await claimFor(session, worker, tickets, workflow)
  expect(new Set(claimed.map(({ group_key: group }) => group))).toEqual(new Set(['greedy', 'small']))
})

test('LIMIT-05: runs in no group share no group limit, and take their turns', async () => {
  const session = await connect(database)
  const workflow = await workflowWith(session, { concurrencyPerGroup: 1 })
  const ids = await startIn(session, workflow, undefined, undefined, undefined)
  const claimed = await claimFor(session, newWorker(), await takeTickets(database, workflow), workflow)
  expect(claimed.map(({ id }) => id).toSorted()).toEqual(ids)
})

test('LIMIT-03: a run past its deadline, or that a cancel was asked for, does not hold up its line', async () => {
  const session = await connect(database)
  const workflow = await workflowWith(session, { concurrencyPerGroup: 1 })
  const [late, cancelled, last] = (await startIn(session, workflow, 'g', 'g', 'g')) as [string, string, string]
  await session.query(`update holdfast.runs set deadline_at = now() - interval '1 s' where id = $1`, [late])
  await session.call('ask_cancels', pgArray([cancelled]), null)
  const claimed = await claimFor(session, newWorker(), await takeTickets(database, workflow), workflow)
  expect(claimed).toMatchObject([{ id: last }])
  await session.call('fail_overdue', 100)
  await session.call('promote_due', 100)
})
