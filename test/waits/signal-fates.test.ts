import { expect, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { becomes } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

const waits = defineWorkflow({ name: 'waits', handler: (_, run) => run.waitFor('word') })

test('WAIT-02: a signal sent in a transaction arrives if and when that commits', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [waits] })
  const started = await client.start(waits)
  await becomes(client, started, 'suspended')
  const connection = await database.pool.connect()
  try {
    await connection.query('begin')
    await client.signal(started, 'word', 'rolled back', { tx: connection })
    await connection.query('rollback')
    await connection.query('begin')
    await client.signal(started, 'word', 'committed', { tx: connection })
    const other = await client.start(waits)
    await becomes(client, other, 'suspended')
    // A worker came by meanwhile, and did not see it.
    expect((await client.get(started))?.state).toBe('suspended')
    await connection.query('commit')
  } finally {
    connection.release()
  }
  expect(await client.result(started)).toBe('committed')
})

test('WAIT-02: a cancel asked for in a transaction has no effect if that rolls back', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [waits] })
  const started = await client.start(waits)
  await becomes(client, started, 'suspended')
  const connection = await database.pool.connect()
  try {
    await connection.query('begin')
    await client.cancel(started, { tx: connection })
    await connection.query('rollback')
  } finally {
    connection.release()
  }
  await client.signal(started, 'word', 'still there')
  expect(await client.result(started)).toBe('still there')
})

test('WAIT-02: a signal for which no run came within 24 hours is dropped and counted; one of a living run is not', async () => {
  const client = openClient(database)
  const [living, never] = [newId(), newId()]
  await client.signal(living, 'word', 'kept')
  await client.signal(never, 'word', 'dropped')
  await client.signal({ workflow: waits, key: 'never' }, 'word', 'dropped')
  await client.signal({ workflow: waits, key: 'later' }, 'word', 'kept')
  await client.signal({ workflow: waits, key: 'young' }, 'word', 'young')
  await client.start(waits, undefined, { id: living })
  await client.start(waits, undefined, { key: 'later' })
  await database.query(
    `update holdfast.signals set sent_at = now() - interval '25 hours' where taken_by is null and payload::text <> '"young"'`,
  )
  await database.query('select holdfast.mend_signals(500)')
  const { rows } = await database.query<{ payload: string }>(
    'select payload from holdfast.signals where taken_by is null order by payload::text',
  )
  expect(rows.map(({ payload }) => payload)).toEqual(['kept', 'kept', 'young'])
  expect((await database.query('select dropped from holdfast.signal_cursor')).rows).toEqual([{ dropped: '2' }])
  await startWorker(database, { workflows: [waits] })
  expect(await client.result(living)).toBe('kept')
  expect(await client.result({ workflow: waits, key: 'later' })).toBe('kept')
})

test('WAIT-02: a signal whose ticket got lost wakes its run all the same', async () => {
  const client = openClient(database)
  const worker = await startWorker(database, { workflows: [waits] })
  const started = await client.start(waits)
  await becomes(client, started, 'suspended')
  await worker.stop()
  await client.signal(started, 'word', 'found')
  await database.query(`delete from holdfast_queue._private_jobs`)
  await database.query(`update holdfast.signals set sent_at = now() - interval '3 s' where taken_by is null`)
  await startWorker(database, { workflows: [waits] })
  expect(await client.result(started)).toBe('found')
})

test('WAIT-02: a signal wakes a run whose suspension has been made while the word of that is on its way to the worker', async () => {
  const [isMade, arrive] = [signal(), signal()]
  class SlowDatabase extends Database {
    override async call<Row>(fn: string, values: readonly unknown[]): Promise<Row[]> {
      // A sweep would find the signal later: it is the ticket that is to wake the run.
      if (fn === 'mend_signals') return []
      const rows = await super.call<Row>(fn, values)
      if (fn === 'settle_runs') {
        isMade.give()
        await arrive.promise
      }
      return rows
    }
  }
  await startWorker(database, { workflows: [waits], kind: SlowDatabase })
  const client = openClient(database)
  const started = await client.start(waits)
  await isMade.promise
  await client.signal(started, 'word', 'in time')
  const untaken = `select from holdfast_queue._private_jobs j where j.payload ->> 'run' = $1 and j.locked_by is null`
  await expect.poll(async () => (await database.query(untaken, [started.id])).rows).toEqual([])
  arrive.give()
  expect(await client.result(started)).toBe('in time')
})
