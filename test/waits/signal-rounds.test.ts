import { expect, test } from 'vitest'
import { defineWorkflow, WaitTimeoutError, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { becomes, endsOfClaims, letPass } from '../support/waiting.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

function orTimeout(run: Run, name: string, timeout: string): Promise<unknown> {
  return run.waitFor(name, { timeout }).catch((error: unknown) => {
    if (error instanceof WaitTimeoutError) return 'T'
    throw error
  })
}

test('WAIT-02: five waits for one name in a loop tell a time-out from a null payload, the same on every replay', async () => {
  const client = openClient(database)
  const seen: unknown[][] = []
  const loops = defineWorkflow({
    name: 'loops',
    handler: async (_, run) => {
      const round: unknown[] = []
      seen.push(round)
      for (let left = 5; left > 0; left -= 1) round.push(await orTimeout(run, 'tick', '1h'))
      return round
    },
  })
  await startWorker(database, { workflows: [loops] })
  const started = await client.start(loops)
  for (const at of [1, 2, 3, 4, 5]) {
    await expect
      .poll(async () => (await database.query('select key from holdfast.waits where run_id = $1', [started.id])).rows)
      .toEqual([{ key: at === 1 ? 'tick' : `tick#${at}` }])
    await becomes(client, started, 'suspended')
    if (at === 4) await client.signal(started, 'tick', null)
    else await letPass(database, started.id, '1 hour')
  }
  expect(await client.result(started)).toEqual(['T', 'T', 'T', null, 'T'])
  expect(seen).toEqual([[], ['T'], ['T', 'T'], ['T', 'T', 'T'], ['T', 'T', 'T', null], ['T', 'T', 'T', null, 'T']])
})

test('WAIT-02: a time-out that fell due while no worker was there comes once and at once', async () => {
  const client = openClient(database)
  const waits = defineWorkflow({
    name: 'waits an hour',
    handler: async (_, run) => [await orTimeout(run, 'late', '1h'), await orTimeout(run, 'late', '1h')],
  })
  const worker = await startWorker(database, { workflows: [waits] })
  const started = await client.start(waits)
  await becomes(client, started, 'suspended')
  await worker.stop()
  await letPass(database, started.id, '1 hour')
  // Too late for the first wait, in time for the second.
  await client.signal(started, 'late', 'next')
  await startWorker(database, { workflows: [waits] })
  expect(await client.result(started)).toEqual(['T', 'next'])
  expect(await endsOfClaims(database, started.id)).toEqual(['suspended', 'done'])
})

test('WAIT-02: a signal that came in time is received, however late anybody looks', async () => {
  const client = openClient(database)
  const waits = defineWorkflow({ name: 'waits a while', handler: (_, run) => orTimeout(run, 'word', '1h') })
  const worker = await startWorker(database, { workflows: [waits] })
  const started = await client.start(waits)
  await becomes(client, started, 'suspended')
  await worker.stop()
  await client.signal(started, 'word', 'in time')
  await database.query(`update holdfast.signals set sent_at = sent_at - interval '1 hour 1 second'`)
  await letPass(database, started.id, '1 hour')
  await startWorker(database, { workflows: [waits] })
  expect(await client.result(started)).toBe('in time')
})

test('WAIT-02: two signals a moment apart keep their payloads and their order over ten replays', async () => {
  const client = openClient(database)
  const seen: unknown[][] = []
  const replays = defineWorkflow({
    name: 'replays',
    handler: async (_, run) => {
      const both = [await run.waitFor('word'), await run.waitFor('word')]
      seen.push(both)
      for (let left = 10; left > 0; left -= 1) await run.sleep('nap', 1)
    },
  })
  await startWorker(database, { workflows: [replays] })
  const started = await client.start(replays)
  await becomes(client, started, 'suspended')
  await client.signal(started, 'word', 1)
  await client.signal(started, 'word', 2)
  await client.result(started)
  expect(seen.length).toBeGreaterThanOrEqual(11)
  expect(seen).toEqual(seen.map(() => [1, 2]))
})

test('WAIT-02: of a thousand runs signalled as they start, or before their start has returned, each gets its own once', async () => {
  const client = openClient(database)
  const receives = defineWorkflow({
    name: 'receives',
    maxAttempts: 1,
    handler: async (_, run) => [await run.waitFor('word'), await orTimeout(run, 'second', '1ms')],
  })
  await startWorker(database, { workflows: [receives], concurrency: 64, poolSize: 10 })
  const round = async (n: number): Promise<unknown> => {
    const id = newId()
    if (n % 2 === 0) {
      const started = await client.start(receives, undefined, { id })
      await client.signal(started, 'word', n)
    } else await Promise.all([client.start(receives, undefined, { id }), client.signal(id, 'word', n)])
    return await client.result(id)
  }
  const all = Array.from({ length: 1_000 }, (_, n) => n)
  expect(await Promise.all(all.map(round))).toEqual(all.map((n) => [n, 'T']))
  const { rows } = await database.query(
    `select count(*)::int as left from holdfast.signals where taken_by is null and name = 'word'`,
  )
  expect(rows).toEqual([{ left: 0 }])
})
