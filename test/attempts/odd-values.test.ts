import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, UnserializableError } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { loseWorker, patiently, quickTimings, recordOf } from './record.ts'
import { recordUnhandled } from './unhandled.ts'

const database = useDatabase()
const unhandled = recordUnhandled()

const shared = { id: 1 }
const oddKeys = ['', ...'user_id userId a.b a\\.b 0 __proto__ constructor prototype toString json meta $ref'.split(' ')]

/** Values that a JSON column alone would drop, change or confuse. */
const values: Readonly<Record<string, unknown>> = {
  undefined,
  null: null,
  'empty text': '',
  zero: 0,
  false: false,
  'minus zero': -0,
  NaN,
  Infinity: -Infinity,
  bigint: 2n ** 80n,
  'largest safe integer': Number.MAX_SAFE_INTEGER,
  'text like JSON': '{"a":1}',
  'text like a date': '2026-01-01T00:00:00.000Z',
  Date: new Date(1_700_000_000_123),
  Float64Array: new Float64Array([0.1, -0, NaN]),
  RegExp: /a(?<b>.)\//giu,
  URL: new URL('https://example.org/a?b=c#d'),
  'empty array': [],
  'array with undefined': [undefined, null, undefined],
  'empty object': {},
  'member that is undefined': { is: undefined, isNull: null },
  Map: new Map<unknown, unknown>([
    ['text', 1],
    [1, 'number'],
    [{ key: true }, new Map()],
  ]),
  Set: new Set([1, '1', undefined, new Date(0)]),
  Uint8Array: new Uint8Array([0, 255, 128]),
  BigInt64Array: new BigInt64Array([-1n, 2n ** 62n]),
  ArrayBuffer: new Uint8Array([1, 2]).buffer,
  Buffer: Buffer.from('bytes'),
  'an object met twice': { first: shared, second: shared },
  mixture: { list: [{ when: new Date(1), who: new Set([{ deep: [1n, undefined, -0] }]) }] },
  'odd keys': Object.fromEntries(oddKeys.map((key, index) => [key, { [key]: index }])),
  'text of many bytes': '\u{1F600}'.repeat(1_000),
}

test('STEP-03: a step and its run give back thirty kinds of value as they were, at first, at replay and at the end', async () => {
  const names = Object.keys(values)
  expect(names).toHaveLength(30)
  const seen = new Map<string, unknown[]>(names.map((name) => [name, []]))
  const begun = new Map(names.map((name) => [name, signal()]))
  const giving = defineWorkflow({
    name: 'giving',
    lease: '1.5s',
    input: z.string(),
    handler: async (name, run) => {
      const answer = await run.step('give', () => values[name])
      seen.get(name)?.push(answer)
      if (run.attempt === 1) {
        begun.get(name)?.give()
        await new Promise(() => undefined)
      }
      return answer
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [giving], timings: quickTimings, concurrency: names.length })
  const runs = await Promise.all(names.map((name) => client.start(giving, name)))
  for (const { promise } of begun.values()) await promise
  for (const run of runs) await loseWorker(database, run)
  for (const [index, run] of runs.entries()) {
    const name = names[index] ?? ''
    const value = values[name]
    const ended = [await client.result(run), (await client.get(run))?.output]
    const given = [...(seen.get(name) ?? []), ...ended]
    expect(given).toHaveLength(4)
    expect({ name, changed: given.filter((each) => !isDeepStrictEqual(each, value)) }).toEqual({ name, changed: [] })
  }
})

class Money {
  readonly cents = 1
}

/** What cannot be kept, each with the path to it. */
const refused: Readonly<Record<string, readonly [() => unknown, string]>> = {
  'a function': [() => ({ list: [{ format: () => '' }] }), '.list[0].format'],
  'a symbol': [() => new Map([['key', Symbol('odd')]]), '.get("key")'],
  'a class instance': [() => [new Money()], '[0]'],
  'a WeakMap': [() => ({ cache: new WeakMap() }), '.cache'],
  'a cycle': [cyclic, '.self'],
  'a getter that throws': [() => Object.defineProperty({}, 'broken', { get: fault, enumerable: true }), '.broken'],
  'a promise inside': [() => ({ later: Promise.resolve(1) }), '.later'],
}

function fault(): never {
  throw new Error('unreadable')
}

function cyclic(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

test('STEP-03: what cannot be kept is a typed error that names its path, and gets no other try or attempt', async () => {
  let bodies = 0
  const make = (what: string): unknown => refused[what]?.[0]()
  const answering = defineWorkflow({
    name: 'answering',
    input: z.string(),
    handler: (what, run) =>
      run.step('give', () => {
        bodies++
        return make(what)
      }),
  })
  const returning = defineWorkflow({ name: 'returning', input: z.string(), handler: make })
  const client = openClient(database)
  await startWorker(database, { workflows: [answering, returning], timings: quickTimings })
  for (const [what, [, path]] of Object.entries(refused)) {
    for (const [workflow, field] of [
      [answering, 'the answer of step "give"'],
      [returning, 'output'],
    ] as const) {
      const run = await client.start(workflow, what)
      const thrown: unknown = await client.result(run).catch((error: unknown) => error)
      expect({ what, thrown, ...(await recordOf(database, run)) }).toMatchObject({
        what,
        thrown: { failure: 'rejected', cause: { code: 'UNSERIALIZABLE', path: field + path } },
        attempt: 1,
      })
    }
  }
  expect(bodies).toBe(Object.keys(refused).length)
  expect(unhandled).toEqual([])
})

test('OPS-07: progress that cannot be kept is the error of its handler alone', async () => {
  const refusals: unknown[] = []
  const goOn = signal()
  const telling = defineWorkflow({
    name: 'telling',
    input: z.string(),
    handler: async (how, run) => {
      run.progress({ count: 2n ** 64n })
      for (const value of [cyclic(), () => 1, Symbol('odd'), 'x'.repeat(70_000)]) {
        try {
          run.progress(value)
        } catch (error) {
          refusals.push(error)
        }
      }
      if (how === 'uncaught') run.progress(cyclic())
      await goOn.promise
      return 'went on'
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [telling], timings: quickTimings })
  const uncaught = await client.start(telling, 'uncaught')
  await expect(client.result(uncaught)).rejects.toMatchObject({ failure: 'rejected', cause: { path: 'progress.self' } })

  refusals.length = 0
  const caught = await client.start(telling, 'caught')
  await expect.poll(async () => (await client.get(caught))?.progress, patiently).toEqual({ count: 2n ** 64n })
  goOn.give()
  expect(await client.result(caught)).toBe('went on')
  expect(refusals).toEqual([
    expect.any(UnserializableError),
    expect.any(UnserializableError),
    expect.any(UnserializableError),
    expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }),
  ])
  expect(unhandled).toEqual([])
})
