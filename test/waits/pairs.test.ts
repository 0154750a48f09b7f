import { describe, expect, test } from 'vitest'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { claim, newId, newWorker, openWaits, settle, startItem } from '../support/runs.ts'
import {
  aftermath,
  cancel,
  drain,
  interleave,
  lostWakeUps,
  orders,
  scene,
  type Deed,
  type Order,
  type Scene,
} from './pairs.ts'

const database = useDatabase()

const suspend =
  ({ worker, run }: Scene): Deed =>
  (session) =>
    settle(session, worker, [{ id: run, token: 1, outcome: 'suspended' }])
const send =
  ({ run }: Scene): Deed =>
  (session) =>
    session.call('send_signals', [{ id: newId(), run, name: 'paid', payload: '7' }])
const promote: Deed = (session) => session.call('promote_due', 100)
const endChild =
  ({ worker, child }: Scene): Deed =>
  (session) =>
    settle(session, worker, [{ id: child, token: 1, outcome: 'done', output: '8' }])
const open =
  ({ run }: Scene): Deed =>
  (session) =>
    openWaits(session, [{ id: run, token: 1 }])
const take =
  ({ run }: Scene): Deed =>
  async (session) => {
    const worker = newWorker()
    for (const { id, token } of await claim(session, worker, [run])) {
      await settle(session, worker, [{ id, token, outcome: 'suspended' }])
    }
  }

/** The run waits for a signal, and for its time if it has one; it is suspended already if so said. */
async function waiting(how: { delay?: number; suspended?: boolean } = {}): Promise<Scene> {
  const on = await scene(database)
  const session = await connect(database)
  await openWaits(session, [{ id: on.run, token: 1, ...(how.delay === undefined ? {} : { delay_ms: how.delay }) }])
  if (how.suspended) await suspend(on)(session)
  return on
}

/** The run waits for the end of the other one, which it calls. */
async function calling(how: { suspended?: boolean } = {}): Promise<Scene> {
  const on = await scene(database)
  const session = await connect(database)
  await session.query(
    'update holdfast.runs set parent_id = $1, is_cancelled_with_parent = true, depth = 1 where id = $2',
    [on.run, on.child],
  )
  await session.query(
    `insert into holdfast.waits (run_id, key, kind, name, ordinal, opened_at, child_id)
     values ($1, 'call', 'call', '[end]' || $2, 1, holdfast._now(), $2::uuid)`,
    [on.run, on.child],
  )
  if (how.suspended) await suspend(on)(session)
  return on
}

/** After both, and after all tickets: nobody sleeps over what has come. */
async function awake(on: Scene): Promise<number> {
  const claims = await drain(on)
  expect(await lostWakeUps(on)).toEqual([])
  return claims
}

async function isCancelled(on: Scene): Promise<void> {
  await awake(on)
  expect((await aftermath(on, on.run))?.state).toBe('cancelled')
}

describe.each(orders)('%s', (order: Order) => {
  test('WAIT-02: a signal and the suspension of its run', async () => {
    const on = await waiting()
    await interleave(on, order, send(on), suspend(on))
    await awake(on)
    expect((await aftermath(on, on.run))?.memos).toEqual(['paid answer'])
  })

  test('WAIT-02: a signal and the opening of the wait for it', async () => {
    const on = await scene(database)
    await interleave(on, order, send(on), open(on))
    await suspend(on)(await connect(database))
    await awake(on)
    expect((await aftermath(on, on.run))?.memos).toEqual(['paid answer'])
  })

  test('WAIT-02: a signal and the promotion of a run whose wait has timed out', async () => {
    const on = await waiting({ delay: 1, suspended: true })
    await interleave(on, order, send(on), promote)
    await awake(on)
    // Whichever came first ended it; a signal that came too late is there for the next wait.
    const memos = (await aftermath(on, on.run))?.memos ?? []
    expect(memos).toHaveLength(1)
    expect(['paid answer', 'paid timeout']).toContain(memos[0])
    const { rows } = await database.query('select taken_by from holdfast.signals where run_id = $1', [on.run])
    expect(rows).toEqual([{ taken_by: memos[0] === 'paid answer' ? 'paid' : null }])
  })

  test('WAIT-02: a signal and a claim of its suspended run', async () => {
    const on = await waiting({ suspended: true })
    await interleave(on, order, send(on), take(on))
    await awake(on)
    expect((await aftermath(on, on.run))?.memos).toEqual(['paid answer'])
  })

  test("WAIT-03: a child's end and its parent's suspension", async () => {
    const on = await calling()
    await interleave(on, order, endChild(on), suspend(on))
    await awake(on)
    expect((await aftermath(on, on.run))?.memos).toEqual(['call answer'])
  })

  test("WAIT-03: a child's end and a claim of its suspended parent", async () => {
    const on = await calling({ suspended: true })
    await interleave(on, order, endChild(on), take(on))
    await awake(on)
    expect((await aftermath(on, on.run))?.memos).toEqual(['call answer'])
  })

  test('RUN-13: a cancel and a suspension', async () => {
    const on = await waiting()
    await interleave(on, order, cancel(on.run), suspend(on))
    await isCancelled(on)
  })

  test('RUN-13: a cancel and a signal', async () => {
    const on = await waiting({ suspended: true })
    await interleave(on, order, cancel(on.run), send(on))
    await isCancelled(on)
  })

  test('RUN-13: a cancel and the promotion of a run whose time has come', async () => {
    const on = await waiting({ delay: 1, suspended: true })
    await interleave(on, order, cancel(on.run), promote)
    await isCancelled(on)
  })

  test('RUN-13: a cancel and the claim of a run that was woken', async () => {
    const on = await waiting({ suspended: true })
    await send(on)(await connect(database))
    await interleave(on, order, cancel(on.run), take(on))
    await isCancelled(on)
  })

  test('RUN-13: a cancel and the opening of a wait', async () => {
    const on = await scene(database)
    await interleave(on, order, cancel(on.run), open(on))
    await isCancelled(on)
  })

  test("WAIT-03: a parent's cancel and its child's end", async () => {
    const on = await calling({ suspended: true })
    await interleave(on, order, cancel(on.run), endChild(on))
    await isCancelled(on)
    expect(['done', 'cancelled']).toContain((await aftermath(on, on.child))?.state)
  })

  test("WAIT-03: the cascade of a parent's cancel and its child's end", async () => {
    const on = await calling({ suspended: true })
    await cancel(on.run)(await connect(database))
    await interleave(on, order, promote, endChild(on))
    await isCancelled(on)
    expect(['done', 'cancelled']).toContain((await aftermath(on, on.child))?.state)
    const { rows } = await database.query('select from holdfast.cancels where run_id = $1', [on.child])
    expect(rows).toEqual([])
  })

  test("WAIT-03: a parent's cancel and the start of a child: it is there and cancelled, or was never started", async () => {
    const on = await scene(database)
    const child = { ...startItem(), parent_id: on.run, is_cancelled_with_parent: true }
    const spawn: Deed = (session) => openWaits(session, [{ id: on.run, token: 1, key: 'child', kind: 'call', child }])
    await interleave(on, order, cancel(on.run), spawn)
    await isCancelled(on)
    expect([undefined, 'cancelled']).toContain((await aftermath(on, child.id))?.state)
  })

  test('WAIT-02: a signal and the run that goes on under another id', async () => {
    const on = await scene(database)
    const next = { ...startItem(), continues: on.run }
    const go: Deed = (session) =>
      settle(session, on.worker, [{ id: on.run, token: 1, outcome: 'continued', details: { next: next as never } }])
    await interleave(on, order, send(on), go)
    // It comes to rest as a run does that opens no wait, and is claimed once more.
    await drain(on)
    const session = await connect(database)
    await session.query(`update holdfast.runs set state = 'waiting' where id = $1 and state = 'suspended'`, [next.id])
    const [claimed] = await claim(session, newWorker(), [next.id])
    expect(await openWaits(session, [{ id: next.id, token: claimed?.token ?? 0 }])).toMatchObject([
      { kind: 'answer', value: '7' },
    ])
  })
})
