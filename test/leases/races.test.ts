import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { claimByHand, memo, outcomes } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

/** Takes leases away at random from whoever holds them, for as long as `isOn`. */
async function takeAway(isOn: () => boolean): Promise<number> {
  let taken = 0
  while (isOn()) {
    await database.query(
      `update holdfast.runs set lease_until = '-infinity'
       where id in (select id from holdfast.runs where state = 'running' and random() < 0.2 for update skip locked)`,
    )
    const { rows } = await database.query<{ ended: number }>(
      'select holdfast.end_leases(500, holdfast._now()) as ended',
    )
    taken += rows[0]?.ended ?? 0
  }
  return taken
}

test('LEASE-05: of three workers forced onto the same runs over and over, all see what is kept, and the result is its', async () => {
  const seen = new Map<string, Set<string>>()
  const workflow = defineWorkflow({
    name: 'fought over',
    lease: '1.5s',
    maxAttempts: 100,
    handler: async (_, run) => {
      const kept: unknown[] = [await run.uuid(), await run.now(), await run.random()]
      for (let n = 0; n < 4; n += 1) kept.push(await run.step('choose', () => `${run.attempt} ${Math.random()}`))
      const [a, b] = await Promise.all([run.step('a', () => Math.random()), run.step('b', () => Math.random())])
      const values = seen.get(run.id) ?? new Set()
      seen.set(run.id, values.add(JSON.stringify([...kept, a, b])))
      return [...kept, a, b] as [string, Date, number, string, string, string, string, number, number]
    },
  })
  const client = openClient(database)
  await Promise.all([1, 2, 3].map(() => startWorker(database, { workflows: [workflow], concurrency: 8 })))
  let isOver = false
  const taken = takeAway(() => !isOver)
  const started = await Promise.all(Array.from({ length: 60 }, () => client.start(workflow)))
  const results = await Promise.all(started.map((run) => client.result(run)))
  isOver = true
  // Enough of them were taken away for the test to mean something.
  expect(await taken).toBeGreaterThan(20)

  for (const [index, { id }] of started.entries()) {
    const { rows } = await database.query<{ key: string; value: unknown }>(
      `select key, value from holdfast.steps where run_id = $1 order by case when key ~ '^.now' then 2 when key ~ '^.uuid'
         then 1 when key ~ '^.random' then 3 else 4 end, key = 'b', key = 'a', key`,
      [id],
    )
    expect(JSON.parse(JSON.stringify(results[index]))).toEqual(rows.map(({ value }) => value))
    expect(seen.get(id)?.size).toBe(1)
  }
  const { rows: overlaps } = await database.query(
    `select a.run_id from holdfast.all_claims a join holdfast.all_claims b
       on a.run_id = b.run_id and a.token < b.token and b.began_at < a.ended_at`,
  )
  expect(overlaps).toEqual([])
})

test('STEP-01: a step that is still running when a race is decided without it is not begun again', async () => {
  const [slow, decided] = [signal(), signal()]
  const bodies: string[] = []
  const workflow = defineWorkflow({
    name: 'race goes on',
    handler: async (_, run) => {
      const loser = run.step('slow', async () => {
        bodies.push('slow')
        await slow.promise
        return 'slow'
      })
      const first = await Promise.race([run.step('quick', () => bodies.push('quick')), loser])
      const next = await run.step('next', () => bodies.push('next'))
      decided.give()
      return [first, next, await loser]
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow] })
  const started = await client.start(workflow)
  await decided.promise
  slow.give()
  expect(await client.result(started)).toEqual([2, 3, 'slow'])
  expect(bodies).toEqual(['slow', 'quick', 'next'])
})

test('STEP-02: of two writes of one step at once one is kept, and both get it', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({ name: 'written twice', handler: () => undefined })
  for (let round = 0; round < 20; round += 1) {
    const { id } = await client.start(workflow)
    const first = await claimByHand(database, id)
    // The same claim, on connections of its own.
    const second = await claimByHand(database, id, { workerId: first.workerId, isRepeated: true })
    const answers = await Promise.all([
      first.journal.keep(memo('step', '"first"', 1)),
      second.journal.keep(memo('step', '"second"', 2)),
    ])
    const { rows } = await database.query<{ value: string }>(
      'select value::text from holdfast.steps where run_id = $1',
      [id],
    )
    expect(rows).toHaveLength(1)
    expect(answers.map(({ value }) => value)).toEqual([rows[0]?.value, rows[0]?.value])
    await first.settle(outcomes.done)
  }
})
