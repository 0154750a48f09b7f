import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { variant } from '../support/variant.ts'
import { becomes } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

const counts = defineWorkflow({
  name: 'counts',
  input: z.number(),
  handler: (left, run) => (left === 0 ? run.key : run.continueAs(left - 1)),
})

test('WAIT-03: continueAs ends the run and begins the next under its key, to the end of a long chain', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [counts] })
  // Where nobody is told, each run waits for the queue's next look.
  const length = variant.isSilent ? 5 : 50
  const started = await client.start(counts, length, {
    key: 'k',
    metadata: { from: 'test' },
    priority: 3,
    maxAttempts: 7,
  })
  expect(await client.result(started)).toBe('k')
  const first = await client.get(started)
  expect(first).toMatchObject({ state: 'done', output: undefined, continuedAs: expect.any(String) as string })
  const { rows } = await database.query<{ id: string }>(
    `select id, state, priority, max_attempts, metadata, attempt, input::text from holdfast.runs
     where id = $1 or chain_id = $1 order by input::text::int desc`,
    [started.id],
  )
  expect(rows).toHaveLength(length + 1)
  for (const [index, row] of rows.entries()) {
    expect(row).toMatchObject({ state: 'done', priority: 3, max_attempts: 7, metadata: { from: 'test' }, attempt: 1 })
    expect((await client.get(row.id))?.continuedAs).toBe(rows[index + 1]?.id)
  }
  expect((await client.get({ workflow: counts, key: 'k' }))?.id).toBe(rows.at(-1)?.id)
  // Within `dedupe`, the key still names what went on under it.
  expect(await client.start(counts, 0, { key: 'k' })).toMatchObject({ id: rows.at(-1)?.id, created: false })
})

test('WAIT-03: a start under the key finds the run that lives, in the middle of a chain', async () => {
  const client = openClient(database)
  const [entered, enough] = [signal<string>(), signal()]
  const stays = defineWorkflow({
    name: 'stays',
    input: z.number(),
    handler: async (n, run) => {
      if (n === 0) return run.continueAs(1)
      entered.give(run.id)
      await enough.promise
      return 'ended'
    },
  })
  await startWorker(database, { workflows: [stays] })
  const started = await client.start(stays, 0, { key: 'one' })
  const second = await entered.promise
  expect(second).not.toBe(started.id)
  expect(await client.start(stays, 1, { key: 'one' })).toMatchObject({ id: second, created: false, state: 'running' })
  enough.give()
  expect(await client.result(started)).toBe('ended')
  expect(await client.result({ workflow: stays, key: 'one' })).toBe('ended')
})

test('WAIT-02: signals that nobody has taken reach the next run, whichever run they were sent to', async () => {
  const client = openClient(database)
  const loops = defineWorkflow({
    name: 'loops',
    input: z.array(z.string()),
    handler: async (words, run) => {
      const all = [...words, (await run.waitFor('word')) as string]
      return all.length === 4 ? all : run.continueAs(all)
    },
  })
  const started = await client.start(loops, [], { key: 'loop' })
  await client.signal(started, 'word', 'a')
  await client.signal({ workflow: loops, key: 'loop' }, 'word', 'b')
  await startWorker(database, { workflows: [loops] })
  await expect.poll(async () => (await client.get({ workflow: loops, key: 'loop' }))?.input).toEqual(['a', 'b'])
  await becomes(client, { workflow: loops, key: 'loop' }, 'suspended')
  // To the first, which has ended.
  await client.signal(started, 'word', 'c')
  await expect.poll(async () => (await client.get({ workflow: loops, key: 'loop' }))?.input).toEqual(['a', 'b', 'c'])
  await client.signal({ workflow: loops, key: 'loop' }, 'word', 'd')
  expect(await client.result(started)).toEqual(['a', 'b', 'c', 'd'])
})

test('WAIT-03: each run of a chain has the group of its own input, and a record of its own', async () => {
  const client = openClient(database)
  const moves = defineWorkflow({
    name: 'moves',
    input: z.string(),
    group: (input) => input.slice(0, 1),
    concurrency: { perGroup: 1 },
    maxSteps: 3,
    handler: async (input, run) => {
      for (let left = 3; left > 0; left -= 1) await run.step('step', () => left)
      return input === 'c' ? `${run.group}` : run.continueAs(input === 'a' ? 'b' : 'c')
    },
  })
  await startWorker(database, { workflows: [moves] })
  const started = await client.start(moves, 'a')
  expect(await client.result(started)).toBe('c')
  const { rows } = await database.query(
    `select group_key, (select count(*)::int from holdfast.steps s where s.run_id = r.id) as steps from holdfast.runs r
     where id = $1 or chain_id = $1 order by created_at, id`,
    [started.id],
  )
  expect(rows).toEqual(['a', 'b', 'c'].map((group) => ({ group_key: group, steps: 3 })))
})

test('WAIT-03: an input that does not fit does not end the run as done', async () => {
  const client = openClient(database)
  const wrong = defineWorkflow({
    name: 'wrong',
    input: z.number(),
    handler: (_, run) => run.continueAs('text'),
  })
  await startWorker(database, { workflows: [wrong] })
  const started = await client.start(wrong, 1, { key: 'w' })
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected', cause: { code: 'INVALID_INPUT' } })
  expect((await client.get({ workflow: wrong, key: 'w' }))?.id).toBe(started.id)
})

test.each(['by itself', 'in a transaction'])(
  'RUN-13: a cancel %s of a run that goes on as another cancels that one',
  async (how) => {
    const client = openClient(database)
    const goesOn = defineWorkflow({
      name: `goes on, cancelled ${how}`.replace(',', ''),
      input: z.number(),
      handler: (left, run) => (left === 0 ? run.sleep('long', '1h') : run.continueAs(left - 1)),
    })
    await startWorker(database, { workflows: [goesOn] })
    const started = await client.start(goesOn, 3, { key: how })
    const last = { workflow: goesOn, key: how }
    await becomes(client, last, 'suspended')
    if (how === 'by itself') {
      const { id } = (await client.get(last)) ?? {}
      expect(await client.cancel(started, { reason: 'enough' })).toMatchObject({ id, state: 'cancelled' })
    } else await client.cancel(started, { reason: 'enough', tx: database.pool })
    await expect(client.result(started)).rejects.toThrow('enough')
    expect(await client.get(last)).toMatchObject({ state: 'cancelled', reason: 'enough' })
    expect((await client.get(started))?.state).toBe('done')
  },
)
