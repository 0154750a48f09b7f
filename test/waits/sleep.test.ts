import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { becomes, endsOfClaims, letPass, loseClaim } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

test("WAIT-01: a sleep wakes once and not early, by the database's clock, in a claim that counts as no attempt", async () => {
  const client = openClient(database)
  const naps = defineWorkflow({
    name: 'naps',
    handler: async (_, run) => {
      await run.sleep('first', 120)
      await run.sleep('second', '80ms')
      return run.attempt
    },
  })
  await startWorker(database, { workflows: [naps] })
  const started = await client.start(naps)
  expect(await client.result(started)).toBe(1)
  expect(await endsOfClaims(database, started.id)).toEqual(['suspended', 'suspended', 'done'])
  const { rows } = await database.query(
    `select c.began_at >= p.ended_at as is_after, c.began_at >= p.began_at + $2 * interval '1 ms' as is_late_enough
     from holdfast.all_claims c join holdfast.all_claims p on p.run_id = c.run_id and p.token = c.token - 2
     where c.run_id = $1 order by c.token`,
    [started.id, 80],
  )
  expect(rows).toEqual([
    { is_after: true, is_late_enough: true },
    { is_after: true, is_late_enough: true },
  ])
  const { rows: kept } = await database.query(
    `select s.key, s.kind
     from holdfast.steps s join holdfast.runs r on r.id = s.run_id where r.id = $1 order by s.seq`,
    [started.id],
  )
  expect(kept).toEqual([
    { key: 'first', kind: 'answer' },
    { key: 'second', kind: 'answer' },
  ])
})

test('WAIT-01: a run that sleeps holds no slot, no lease and no ticket', async () => {
  const client = openClient(database)
  const sleeps = defineWorkflow({ name: 'sleeps', handler: (_, run) => run.sleep('long', '1h') })
  const passes = defineWorkflow({ name: 'passes', handler: () => 'passed' })
  await startWorker(database, { workflows: [sleeps, passes], concurrency: 1 })
  const started = await client.start(sleeps)
  await becomes(client, started, 'suspended')
  expect(await client.result(await client.start(passes))).toBe('passed')
  const { rows } = await database.query(
    `select r.state, r.lease_until, r.token % 2 as is_claimed, (
       select count(*)::int from holdfast_queue._private_jobs j where j.payload ->> 'run' = r.id::text
     ) as tickets from holdfast.runs r where r.id = $1`,
    [started.id],
  )
  expect(rows).toEqual([{ state: 'suspended', lease_until: null, is_claimed: 0, tickets: 0 }])
  await letPass(database, started.id, '1 hour')
  expect(await client.result(started)).toBeUndefined()
})

test('WAIT-01: sleepUntil a time that has passed goes on in the same claim', async () => {
  const client = openClient(database)
  const wakes = defineWorkflow({
    name: 'wakes at once',
    handler: async (_, run) => {
      await run.sleepUntil('past', new Date('2001-02-03T04:05:06Z'))
      await run.sleep('nothing', 0)
    },
  })
  await startWorker(database, { workflows: [wakes] })
  const started = await client.start(wakes)
  await client.result(started)
  expect(await endsOfClaims(database, started.id)).toEqual(['done'])
})

test('WAIT-01: a sleep counts from its first call, however many claims are lost while it runs beside a step', async () => {
  const client = openClient(database)
  const held = [signal(), signal()]
  const entered = [signal(), signal()]
  const sleepsBeside = defineWorkflow({
    name: 'sleeps beside a step',
    lease: '1.5s',
    handler: async (_, run) => {
      const sleeping = run.sleep('hour', '1h')
      const attempt = await run.step('work', async () => {
        const at = run.attempt - 1
        entered[at]?.give()
        await held[at]?.promise
        return run.attempt
      })
      await sleeping
      return attempt
    },
  })
  await startWorker(database, { workflows: [sleepsBeside] })
  const started = await client.start(sleepsBeside)
  await entered[0]?.promise
  const opened = async (): Promise<unknown> =>
    (await database.query('select due_at, opened_at from holdfast.waits where run_id = $1', [started.id])).rows
  await expect.poll(opened).toHaveLength(1)
  const first = await opened()
  await loseClaim(database, started.id)
  await entered[1]?.promise
  expect(await opened()).toEqual(first)
  held[1]?.give()
  await becomes(client, started, 'suspended')
  expect(await opened()).toEqual(first)
  await letPass(database, started.id, '1 hour')
  expect(await client.result(started)).toBe(2)
  held[0]?.give()
})

test('WAIT-01: a claim that is busy beside a sleep goes on with it in the same claim, once its time has come', async () => {
  const client = openClient(database)
  const woken = signal()
  const races = defineWorkflow({
    name: 'busy beside a sleep',
    handler: async (_, run) => {
      const working = run.step('work', () => woken.promise)
      await run.sleep('short', 50)
      const key = await run.step('after the sleep', (step) => step.key)
      woken.give()
      await working
      return key
    },
  })
  await startWorker(database, { workflows: [races] })
  const started = await client.start(races)
  expect(await client.result(started)).toBe('after the sleep')
  expect(await endsOfClaims(database, started.id)).toEqual(['done'])
})
