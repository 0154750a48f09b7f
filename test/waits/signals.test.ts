import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineSignal, defineWorkflow, InvalidSignalError, RunEndedError } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { becomes, endsOfClaims } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

const amount = defineSignal({ name: 'amount', schema: z.object({ cents: z.coerce.number() }) })

const waits = defineWorkflow({
  name: 'waits',
  input: z.number(),
  handler: async (count, run) => {
    const words: unknown[] = []
    for (let left = count; left > 0; left -= 1) words.push(await run.waitFor('word'))
    return words
  },
})

test('WAIT-02: a signal sent before its run is there is received, be it by id or by key', async () => {
  const client = openClient(database)
  const id = newId()
  await client.signal(id, 'word', 'by id')
  await client.signal({ workflow: waits, key: 'early' }, 'word', 'by key')
  await startWorker(database, { workflows: [waits] })
  expect(await client.result(await client.start(waits, 1, { id }))).toEqual(['by id'])
  expect(await client.result(await client.start(waits, 1, { key: 'early' }))).toEqual(['by key'])
  const { rows } = await database.query('select taken_by, is_early from holdfast.signals')
  expect(rows).toEqual([
    { taken_by: 'word', is_early: false },
    { taken_by: 'word', is_early: false },
  ])
})

test('WAIT-02: signals sent before the wait and while it waits come in the order in which they were sent, one a wait', async () => {
  const client = openClient(database)
  const started = await client.start(waits, 6)
  for (const word of [1, 2, 3]) await client.signal(started, 'word', word)
  await startWorker(database, { workflows: [waits] })
  await becomes(client, started, 'suspended')
  // The three that were there took no claim of their own.
  expect(await endsOfClaims(database, started.id)).toEqual(['suspended'])
  for (const word of [4, 5, 6]) await client.signal(started, 'word', word)
  expect(await client.result(started)).toEqual([1, 2, 3, 4, 5, 6])
})

test('WAIT-02: of several waits for one name the one called first gets the signal sent first', async () => {
  const client = openClient(database)
  const inParallel = defineWorkflow({
    name: 'waits in parallel',
    handler: (_, run) => Promise.all([run.waitFor('word'), run.waitFor('word'), run.waitFor('word')]),
  })
  await startWorker(database, { workflows: [inParallel] })
  const started = await client.start(inParallel)
  await becomes(client, started, 'suspended')
  for (const word of ['a', 'b', 'c']) await client.signal(started, 'word', word)
  expect(await client.result(started)).toEqual(['a', 'b', 'c'])
})

test('WAIT-02: a signal that comes while the claim is busy beside the wait is received in that claim', async () => {
  const client = openClient(database)
  const [entered, enough] = [signal(), signal()]
  const races = defineWorkflow({
    name: 'races a step',
    handler: async (_, run) => {
      const working = run.step('long', async () => {
        entered.give()
        await enough.promise
        return 'step'
      })
      const first = await Promise.race([working, run.waitFor('word')])
      enough.give()
      return [first, await working]
    },
  })
  await startWorker(database, { workflows: [races] })
  const started = await client.start(races)
  await entered.promise
  await client.signal(started, 'word', 'signal')
  expect(await client.result(started)).toEqual(['signal', 'step'])
  expect(await endsOfClaims(database, started.id)).toEqual(['done'])
})

test('WAIT-02: a signal sent again under its id is received once, also when it is sent several times at once', async () => {
  const client = openClient(database)
  const started = await client.start(waits, 2)
  const again = (word: string): Promise<void> => client.signal(started, 'word', word, { id: 'same' })
  await again('first')
  await Promise.all([again('second'), again('third'), again('fourth'), again('fifth')])
  await client.signal(started, 'word', 'other')
  await startWorker(database, { workflows: [waits] })
  expect(await client.result(started)).toEqual(['first', 'other'])
})

test('WAIT-02: a signal sent several times at once wakes a run that waits', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [waits] })
  const started = await client.start(waits, 1)
  await becomes(client, started, 'suspended')
  await Promise.all([1, 2, 3, 4].map((n) => client.signal(started, 'word', n, { id: 'same' })))
  expect(await client.result(started)).toEqual([1])
})

test('WAIT-02: a run that has ended takes no signal, and its sender is told', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [waits] })
  const started = await client.start(waits, 0, { key: 'ended' })
  await client.result(started)
  await expect(client.signal(started, 'word', 1)).rejects.toBeInstanceOf(RunEndedError)
  await expect(client.signal({ workflow: waits, key: 'ended' }, 'word', 1)).rejects.toBeInstanceOf(RunEndedError)
})

test('WAIT-02: a payload that does not fit the schema is refused before anything is sent, and one that fits arrives parsed', async () => {
  const client = openClient(database)
  const pays = defineWorkflow({ name: 'pays', handler: async (_, run) => (await run.waitFor(amount)).cents + 1 })
  const started = await client.start(pays)
  await expect(client.signal(started, amount, { cents: 'many' })).rejects.toBeInstanceOf(InvalidSignalError)
  expect((await database.query('select from holdfast.signals where name = $1', ['amount'])).rows).toEqual([])
  await startWorker(database, { workflows: [pays] })
  await client.signal(started, amount, { cents: '41' })
  expect(await client.result(started)).toBe(42)
})

test('WAIT-02: what was sent past the schema fails its wait, the same on every replay, and the next one goes on', async () => {
  const client = openClient(database)
  const seen: unknown[] = []
  const pays = defineWorkflow({
    name: 'pays or not',
    handler: async (_, run) => {
      const first = await run.waitFor(amount).catch((error: unknown) => error)
      seen.push(first instanceof InvalidSignalError && first.issues[0]?.path)
      const { cents } = await run.waitFor('amount', { schema: z.object({ cents: z.number() }) })
      await run.sleep('nap', 10)
      return cents
    },
  })
  const started = await client.start(pays)
  await client.signal(started, 'amount', { cents: 'many' })
  await startWorker(database, { workflows: [pays] })
  await becomes(client, started, 'suspended')
  await client.signal(started, 'amount', { cents: 3 })
  expect(await client.result(started)).toBe(3)
  expect(seen).toEqual(['cents', 'cents', 'cents'])
})

test('WAIT-02: every kind of value arrives as it was sent', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [waits] })
  const values = [new Date(0), new Map([[1, new Set(['x'])]]), null, undefined, 10n ** 20n, { deep: [Number.NaN] }]
  const started = await client.start(waits, values.length)
  for (const value of values) await client.signal(started, 'word', value)
  expect(await client.result(started)).toEqual(values)
})

test('WAIT-02: a wait with no time takes a signal that is there, and else times out in the same claim', async () => {
  const client = openClient(database)
  const looks = defineWorkflow({
    name: 'looks',
    handler: async (_, run) => {
      const look = (): Promise<unknown> => run.waitFor('word', { timeout: 0 }).catch(() => 'none')
      return [await look(), await look()]
    },
  })
  const started = await client.start(looks)
  await client.signal(started, 'word', 'there')
  await startWorker(database, { workflows: [looks] })
  expect(await client.result(started)).toEqual(['there', 'none'])
  expect(await endsOfClaims(database, started.id)).toEqual(['done'])
})

test('WAIT-02: items of a map wait under keys of their own, each for its own signal', async () => {
  const client = openClient(database)
  const maps = defineWorkflow({
    name: 'maps',
    handler: (_, run) =>
      run.map('orders of a customer', ['a', 'b'], (order) =>
        run.map('parcels of an order', [1, 2], (n) => run.waitFor(`${order}${n}`)),
      ),
  })
  await startWorker(database, { workflows: [maps] })
  const started = await client.start(maps)
  await becomes(client, started, 'suspended')
  for (const name of ['b2', 'a1', 'b1', 'a2']) await client.signal(started, name, name)
  expect(await client.result(started)).toEqual([
    ['a1', 'a2'],
    ['b1', 'b2'],
  ])
})
