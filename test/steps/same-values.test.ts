import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, UnserializableError, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { kinds } from '../support/value-kinds.ts'
import { openClient, startWorker } from '../support/worker.ts'

/** What goes through a step, a transaction, the input and the output is the same for everybody who gets it. */

const database = useDatabase()

interface Sight {
  readonly step: unknown
  readonly transaction: unknown
  readonly input: unknown
}

/** By attempt, what the handler had of each kind. */
const sights = new Map<number, Map<string, Sight>>()

const through = defineWorkflow({
  name: 'through',
  input: z.object({ values: z.array(z.any()) }),
  retry: { initial: 0 },
  maxAttempts: 2,
  handler: async ({ values }, run) => {
    const seen = new Map<string, Sight>()
    sights.set(run.attempt, seen)
    for (const [index, [kind, value]] of kinds.entries()) {
      const step = await run.step('value', () => value)
      const transaction = await run.transaction('value in a transaction', async (tx) => {
        await tx.query('select 1')
        return value
      })
      seen.set(kind, { step, transaction, input: values[index] as unknown })
    }
    if (run.attempt === 1) throw new Error('once more, from what was kept')
    return kinds.map(([, value]) => value)
  },
})

describe('a value of every kind', () => {
  let output: unknown[]

  beforeAll(async () => {
    const client = openClient(database)
    const worker = await startWorker(database, { workflows: [through] })
    const run = await client.start(through, { values: kinds.map(([, value]) => value) })
    output = await client.result(run)
    await worker.stop()
  })

  test('STEP-03: thirty kinds and more were sent', () => {
    expect(kinds.length).toBeGreaterThan(30)
    expect([...sights.keys()]).toEqual([1, 2])
    expect(output).toHaveLength(kinds.length)
  })

  test.each(kinds.map(([kind, value], index) => ({ kind, value, index })))(
    'STEP-03: $kind is the same in the first run, in the replay and for whoever asks for the result',
    ({ kind, value, index }) => {
      const first = sights.get(1)?.get(kind)
      const replayed = sights.get(2)?.get(kind)
      const all = [first?.step, first?.transaction, first?.input, replayed?.step, replayed?.transaction, output[index]]
      for (const each of all) expect(isDeepStrictEqual(each, value)).toBe(true)
      for (const each of all) expect(Object.getPrototypeOf(Object(each))).toBe(Object.getPrototypeOf(Object(value)))
    },
  )

  test('STEP-03: the first run gets the stored form, so a change to what the body returned is not seen', async () => {
    const kept = { list: [1] }
    const changed = defineWorkflow({
      name: 'changed behind its back',
      handler: async (_, run) => {
        const answer = await run.step('value', () => kept)
        kept.list.push(2)
        return { answer, isSame: (answer as unknown) === kept }
      },
    })
    const client = openClient(database)
    await startWorker(database, { workflows: [changed] })
    expect(await client.result(await client.start(changed))).toEqual({ answer: { list: [1] }, isSame: false })
  })
})

const bad = { list: [{ ok: 1, fn: () => 1 }] }

const places: Readonly<Record<string, { readonly path: string; readonly handler: (run: Run) => unknown }>> = {
  'the answer of a step': {
    path: 'the answer of step "order".list[0].fn',
    handler: (run) => run.step('order', () => bad),
  },
  'the answer of a transaction': {
    path: 'the answer of step "order".list[0].fn',
    handler: (run) => run.transaction('order', () => Promise.resolve(bad)),
  },
  'the args of a step': { path: 'args.list[0].fn', handler: (run) => run.step('order', () => 1, { args: bad }) },
  progress: { path: 'progress.list[0].fn', handler: (run) => run.progress(bad) },
  'the output': { path: 'output.list[0].fn', handler: () => bad },
}

describe('a value that cannot be kept', () => {
  const errors = new Map<string, unknown>()
  const workflows = Object.entries(places).map(([place, { handler }]) =>
    defineWorkflow({
      name: place,
      handler: async (_, run) => {
        try {
          return await handler(run)
        } catch (error) {
          errors.set(place, error)
          throw error
        }
      },
    }),
  )
  test.each(Object.entries(places))(
    'STEP-03: in %s is a typed error that names its path and fails the run',
    async (place, { path }) => {
      const client = openClient(database)
      const workflow = workflows.find(({ name }) => name === place)
      if (!workflow) throw new Error('no such workflow')
      await startWorker(database, { workflows: [workflow] })
      const run = await client.start(workflow)
      const failure: unknown = await client.result(run).catch((error: unknown) => error)
      const expected = { code: 'UNSERIALIZABLE', path, message: expect.stringContaining(path) as string }
      expect(failure).toMatchObject({ failure: 'rejected', cause: expected })
      expect((failure as Error).cause).toBeInstanceOf(UnserializableError)
      if (place !== 'the output') {
        expect(errors.get(place)).toBeInstanceOf(UnserializableError)
        expect(errors.get(place)).toMatchObject(expected)
      }
      expect(await client.get(run)).toMatchObject({ attempt: 1 })
    },
  )

  test('STEP-03: in the input is a typed error before a row is written', async () => {
    const taking = defineWorkflow({ name: 'taking', input: z.any(), handler: () => undefined })
    const starting = openClient(database).start(taking, bad)
    await expect(starting).rejects.toMatchObject({ code: 'UNSERIALIZABLE', path: 'input.list[0].fn' })
    const { rows } = await database.query('select from holdfast.runs where workflow = $1', ['taking'])
    expect(rows).toEqual([])
  })
})
