import { expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { claim, newId, newWorker, openWaits, runningRuns, settle, waitingRuns } from '../support/runs.ts'

const database = useDatabase()

async function suspend(session: Connection, worker: string, id: string): Promise<void> {
  expect(await settle(session, worker, [{ id, token: 1, outcome: 'suspended' }])).toEqual([])
}

async function send(session: Connection, run: string): Promise<void> {
  await session.call('send_signals', [{ id: newId(), run, name: 'paid', payload: '1' }])
}

async function stateOf(session: Connection, id: string): Promise<unknown> {
  return (await session.query('select state from holdfast.runs where id = $1', [id]))[0]?.['state']
}

test('a signal sent before its run suspends keeps it from suspending', async () => {
  const session = await connect(database)
  const worker = newWorker()
  const [id] = (await runningRuns(session, worker, 1)) as [string]
  await openWaits(session, [{ id, token: 1 }])
  await send(session, id)
  await suspend(session, worker, id)
  expect(await stateOf(session, id)).toBe('waiting')
  expect(await claim(session, newWorker(), [id])).toMatchObject([{ token: 3 }])
})

test('a signal that commits after its run suspended wakes it by the ticket it brings', async () => {
  const [sender, settler] = [await connect(database), await connect(database)]
  const worker = newWorker()
  const [id] = (await runningRuns(settler, worker, 1)) as [string]
  await openWaits(settler, [{ id, token: 1 }])
  await sender.query('begin')
  await send(sender, id)
  await suspend(settler, worker, id)
  expect(await stateOf(settler, id)).toBe('suspended')
  await sender.query('commit')
  const tickets = await settler.query(
    `select key from holdfast_queue._private_jobs where payload ->> 'run' = $1 and key like '%:s%'`,
    [id],
  )
  expect(tickets).toHaveLength(1)
  expect(await claim(settler, newWorker(), [id])).toMatchObject([{ token: 3 }])
})

test("a claim that meets its run just suspending waits and takes it; with the state in the lock's WHERE it is lost", async () => {
  const [settler, claimer, obvious] = [await connect(database), await connect(database), await connect(database)]
  const worker = newWorker()
  const [id] = (await runningRuns(settler, worker, 1)) as [string]
  await openWaits(settler, [{ id, token: 1 }])
  await settler.query('begin')
  await suspend(settler, worker, id)
  await send(claimer, id)

  const missed = await obvious.query(
    `select id from holdfast.runs where id = $1 and state in ('waiting', 'suspended') for update`,
    [id],
  )
  expect(missed).toEqual([])

  const waiting = await claimer.block(claim(claimer, newWorker(), [id]))
  await settler.query('commit')
  expect(await waiting.done).toMatchObject([{ id, token: 3 }])
})

test('a signal waits for nobody who holds its run', async () => {
  const [holder, sender] = [await connect(database), await connect(database)]
  const [id] = (await waitingRuns(holder, 1)) as [string]
  await holder.query('begin')
  await holder.query('select from holdfast.runs where id = $1 for update', [id])
  await sender.query(`set lock_timeout = '100ms'`)
  await send(sender, id)
  await holder.query('rollback')
})

const fetch = `update holdfast_queue._private_jobs set locked_at = now(), locked_by = 'w', attempts = 1 where key = $1`

test('a ticket keyed by its run alone is swallowed by the old one that is just being fetched', async () => {
  const [fetching, waking] = [await connect(database), await connect(database)]
  const add = (session: Connection): Promise<unknown[]> =>
    session.query(
      `select id from holdfast_queue.add_jobs(array[row('sample', '{}', null, null, 25, 'same', 0, null)::holdfast_queue.job_spec])`,
    )
  expect(await add(waking)).toHaveLength(1)
  await fetching.query('begin')
  await fetching.query(fetch, ['same'])
  const waiting = await waking.block(add(waking))
  await fetching.query('commit')
  expect(await waiting.done).toHaveLength(0)
})

test("LEASE-01: the next claim's ticket is issued beside the old one that is just being fetched", async () => {
  const [fetching, settler] = [await connect(database), await connect(database)]
  const worker = newWorker()
  const [id] = (await runningRuns(settler, worker, 1)) as [string]
  await fetching.query('begin')
  await fetching.query(fetch, [`${id}:0`])
  await settle(settler, worker, [{ id, token: 1, outcome: 'retry', details: { delay_ms: 0 } }])
  await fetching.query('commit')
  const keys = await settler.query(
    `select key from holdfast_queue._private_jobs where payload ->> 'run' = $1 order by key`,
    [id],
  )
  expect(keys).toEqual([{ key: `${id}:0` }, { key: `${id}:2` }])
})
