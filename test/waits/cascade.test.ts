import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { variant } from '../support/variant.ts'
import { becomes } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

const rests = defineWorkflow({ name: 'rests', handler: (_, run) => run.sleep('long', '1h') })

async function statesOfChildren(id: string): Promise<string[]> {
  const { rows } = await database.query<{ state: string }>(
    'select state from holdfast.runs where parent_id = $1 order by id',
    [id],
  )
  return rows.map((row) => row.state)
}

test('WAIT-03: a cancel reaches the whole tree below, also while it grows: nothing of it begins once that has passed on', async () => {
  const client = openClient(database)
  const begun: string[] = []
  // oxlint-disable-next-line typescript/no-explicit-any -- a workflow that calls itself
  const grows: any = defineWorkflow({
    name: 'grows',
    input: z.number(),
    handler: async (depth, run) => {
      begun.push(run.id)
      if (depth === 0) return await run.sleep('long', '1h')
      const calls = Array.from({ length: 10 }, () => run.call(grows, depth - 1))
      return await Promise.all(calls)
    },
  })
  await startWorker(database, { workflows: [grows] })
  const started = await client.start(grows, 3)
  await expect.poll(() => begun.length, { interval: 2 }).toBeGreaterThan(30)
  await client.cancel(started)
  const living = async (): Promise<unknown> =>
    (
      await database.query(
        `select count(*)::int as count from holdfast.runs where workflow = 'grows' and ended_at is null`,
      )
    ).rows
  await expect.poll(living).toEqual([{ count: 0 }])
  const { rows } = await database.query(
    `select count(*) filter (where r.claimed_at > root.ended_at + $2::interval)::int as begun_late,
       count(*) filter (where r.created_at > root.ended_at + $2::interval)::int as made_late, count(distinct r.state)::int as states
     from holdfast.runs r, holdfast.runs root where r.workflow = 'grows' and root.id = $1`,
    // Where nobody is told, a cancel is carried out at the next look.
    [started.id, variant.isSilent ? '6 s' : '1 s'],
  )
  expect(rows).toEqual([{ begun_late: 0, made_late: 0, states: 1 }])
  expect((await client.get(started))?.state).toBe('cancelled')
})

test('WAIT-03: a child called with abandon, or started, outlives the cancel of its parent; others do not', async () => {
  const client = openClient(database)
  const parent = defineWorkflow({
    name: 'leaves some',
    handler: async (_, run) => {
      await run.start(rests)
      await run.start(rests, undefined, { abandon: false })
      await Promise.all([run.call(rests), run.call(rests, undefined, { abandon: true })])
    },
  })
  await startWorker(database, { workflows: [rests, parent] })
  const started = await client.start(parent)
  await expect.poll(() => statesOfChildren(started.id)).toEqual(Array.from({ length: 4 }, () => 'suspended'))
  await client.cancel(started)
  await expect
    .poll(async () => (await statesOfChildren(started.id)).toSorted())
    .toEqual(['cancelled', 'cancelled', 'suspended', 'suspended'])
})

test('WAIT-03: a cancel reaches the run as which a child goes on', async () => {
  const client = openClient(database)
  const goesOn = defineWorkflow({
    name: 'goes on',
    input: z.number(),
    handler: (left, run) => (left === 0 ? run.sleep('long', '1h') : run.continueAs(left - 1)),
  })
  const parent = defineWorkflow({ name: 'calls a chain', handler: (_, run) => run.call(goesOn, 2) })
  await startWorker(database, { workflows: [goesOn, parent] })
  const started = await client.start(parent)
  const states = async (): Promise<string[]> => (await statesOfChildren(started.id)).toSorted()
  await expect.poll(states).toEqual(['done', 'done', 'suspended'])
  await client.cancel(started)
  await expect.poll(states).toEqual(['cancelled', 'done', 'done'])
})

test('WAIT-03: a child outlives a parent that fails', async () => {
  const client = openClient(database)
  const parent = defineWorkflow({
    name: 'fails beside a child',
    handler: async (_, run) => {
      void run.call(rests)
      await run.sleep('nap', 10)
      return run.fail('no more')
    },
  })
  await startWorker(database, { workflows: [rests, parent] })
  const started = await client.start(parent)
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected' })
  await expect.poll(() => statesOfChildren(started.id)).toEqual(['suspended'])
})

test('WAIT-03: a parent that is cancelled while its child ends stays cancelled', async () => {
  const client = openClient(database)
  const [entered, enough] = [signal(), signal()]
  const ends = defineWorkflow({
    name: 'ends',
    handler: async () => {
      entered.give()
      await enough.promise
    },
  })
  const after: string[] = []
  const parent = defineWorkflow({
    name: 'is cancelled',
    handler: async (_, run) => {
      await run.call(ends, undefined, { abandon: true })
      after.push('went on')
    },
  })
  await startWorker(database, { workflows: [ends, parent] })
  const started = await client.start(parent)
  await entered.promise
  await becomes(client, started, 'suspended')
  const cancelling = client.cancel(started)
  enough.give()
  await cancelling
  await expect.poll(() => statesOfChildren(started.id)).toEqual(['done'])
  expect((await client.get(started))?.state).toBe('cancelled')
  expect(after).toEqual([])
})
