import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, UnserializableError, type Run } from '../../src/index.ts'
import { quickTimings } from '../attempts/record.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const bytes = Uint8Array.from([0, 1, 127, 128, 254, 255, 7, 8])

const kinds: Readonly<Record<string, unknown>> = {
  null: null,
  true: true,
  false: false,
  zero: 0,
  'minus zero': -0,
  'a fraction': 0.1 + 0.2,
  'the smallest number': Number.MIN_VALUE,
  NaN,
  Infinity,
  '-Infinity': -Infinity,
  'a bigint': -(2n ** 90n),
  'empty text': '',
  'text with quotes and U+0000': `'"\\\0\n`,
  'half a surrogate pair': '\ud800x',
  'text of many scripts': 'häß 漢字 \u{1F600} \u202e',
  'an empty list': [],
  'a list with undefined': [undefined, null, [undefined]],
  'a nested list': [[[[1], 2], 3], 4],
  'an empty object': {},
  'an object with an undefined member': { is: undefined, isNull: null },
  'members in an order that jsonb would change': { zz: 1, b: 2, a: 3 },
  'members named as prototypes are': JSON.parse('{"__proto__":{"x":1},"constructor":2,"toString":3}'),
  'a Date': new Date('2024-02-29T23:59:59.999Z'),
  'a Date before 1': new Date(-8.64e15),
  'a RegExp': /^a\/(?<b>[^"]+)$/giu,
  'a URL': new URL('https://us%20er@example.org:8443/a%2Fb?c=%20d#e'),
  'a Map': new Map<unknown, unknown>([
    [1, 'number'],
    ['1', 'text'],
    [{ key: 1n }, new Map([[null, undefined]])],
  ]),
  'a Set': new Set<unknown>([1, '1', undefined, NaN, new Date(0), new Set([2n])]),
  'an Error': new Error('broken'),
  'an Error with a code and a cause': Object.assign(new Error('outer', { cause: new Error('inner') }), { code: 'E_X' }),
  'a Uint8Array': bytes,
  'a Buffer': Buffer.from('bytes'),
  'an Int16Array': new Int16Array(bytes.buffer),
  'a Float64Array': new Float64Array([0.1, -0, NaN, Infinity]),
  'a BigUint64Array': new BigUint64Array([2n ** 64n - 1n]),
  'an ArrayBuffer': bytes.slice().buffer,
  'a DataView': new DataView(bytes.slice().buffer),
  'a tree of all sorts': { list: [new Map([['set', new Set([new Date(1), 1n])]])], deep: { er: [{ bytes, at: -0 }] } },
  'a text of 100 KB': 'x'.repeat(100_000),
}

interface Seen {
  readonly from: string
  readonly value: unknown
}

test('STEP-03: first run, replay, input and output give back each kind of value as it was', async () => {
  const names = Object.keys(kinds)
  expect(names.length).toBeGreaterThanOrEqual(30)
  const seen = new Map<string, Seen[]>(names.map((name) => [name, []]))
  let bodies = 0
  const valued = defineWorkflow({
    name: 'valued',
    input: z.unknown(),
    retry: { initial: 0 },
    handler: async (input, run) => {
      const make = (): unknown => {
        bodies += 1
        return kinds[run.key ?? '']
      }
      const values = {
        input,
        step: await run.step('step', make),
        transaction: await run.transaction('transaction', () => Promise.resolve(make())),
      }
      for (const [from, value] of Object.entries(values)) {
        seen.get(run.key ?? '')?.push({ from: `${from} of attempt ${run.attempt}`, value })
      }
      return run.attempt === 1 ? run.retry(0) : values.step
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [valued], timings: quickTimings })
  await Promise.all(
    names.map(async (name) => {
      const run = await client.start(valued, kinds[name], { key: name })
      const result = await client.result(run)
      const view = await client.get(run)
      seen.get(name)?.push({ from: 'result', value: result })
      seen.get(name)?.push({ from: 'output', value: view?.output }, { from: 'input', value: view?.input })
    }),
  )
  expect(bodies).toBe(names.length * 2)
  for (const [name, all] of seen) {
    expect(all).toHaveLength(9)
    const changed = all.filter(({ value }) => !isDeepStrictEqual(value, kinds[name]))
    expect({ name, changed }).toEqual({ name, changed: [] })
  }
})

test('STEP-03: what stands for itself only in part is the same on the first run as on every replay', async () => {
  class Money extends Error {
    readonly cents = 1
  }
  const shared = { id: 1 }
  const parts: Readonly<Record<string, unknown>> = {
    undefined,
    'a sparse list': Array.from({ length: 3 }, (_, index) => index).concat(Array(2) as number[]),
    'an invalid Date': new Date(NaN),
    'an object met twice': { one: shared, two: shared },
    'an Error of a class': new Money('not enough'),
    'an object without prototype': Object.assign(Object.create(null), { a: 1 }),
    'a symbol as a key': { [Symbol('left out')]: 1, kept: 2 },
  }
  const seen: Map<string, unknown>[] = []
  const partial = defineWorkflow({
    name: 'partial',
    retry: { initial: 0 },
    handler: async (_, run) => {
      const answers = new Map<string, unknown>()
      for (const [name, value] of Object.entries(parts)) answers.set(name, await run.step(name, () => value))
      seen.push(answers)
      return run.attempt === 1 ? run.retry(0) : null
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [partial], timings: quickTimings })
  await client.result(await client.start(partial))
  expect(seen).toHaveLength(2)
  expect(seen[1]).toStrictEqual(seen[0])
  expect(seen[0]?.get('an Error of a class')).not.toBeInstanceOf(Money)
})

type Give = (run: Run, name: string, value: unknown) => unknown

/** Each place a handler gives a value to be kept, and how a path to it begins. */
const places: Readonly<Record<string, readonly [Give, (name: string) => string]>> = {
  step: [(run, name, value) => run.step(name, () => value), (name) => `the answer of step "${name}"`],
  transaction: [
    (run, name, value) => run.transaction(name, () => Promise.resolve(value)),
    (name) => `the answer of step "${name}"`,
  ],
  args: [(run, name, value) => run.step(name, () => fail('a body ran'), { args: value }), () => 'args'],
  progress: [(run, _, value) => run.progress(value), () => 'progress'],
}

function fail(why: string): never {
  throw new Error(why)
}

const unkeepable: Readonly<Record<string, readonly [string, unknown]>> = {
  'a function': ['.list[1].format', { list: [0, { format: () => '' }] }],
  'a symbol': ['.get("key")', new Map([['key', Symbol('odd')]])],
  'a class instance': ['["not a name"]', { 'not a name': new (class Money {})() }],
  'a promise': ['.later', { later: Promise.resolve(1) }],
}

test('STEP-03: what cannot be kept is a typed error that names its path, at first and on every replay', async () => {
  const seen: unknown[][] = []
  const expected: unknown[] = []
  for (const [place, [, field]] of Object.entries(places)) {
    for (const [what, [path]] of Object.entries(unkeepable)) expected.push([place, what, field(what + place) + path])
  }
  const refusing = defineWorkflow({
    name: 'refusing',
    retry: { initial: 0 },
    handler: async (_, run) => {
      const errors: unknown[] = []
      for (const [place, [give]] of Object.entries(places)) {
        for (const [what, [, value]] of Object.entries(unkeepable)) {
          const error: unknown = await (async () => give(run, what + place, value))().catch((thrown: unknown) => thrown)
          errors.push([place, what, error instanceof UnserializableError ? error.path : error])
        }
      }
      seen.push(errors)
      await run.step('after', () => 1)
      return run.attempt === 1 ? run.retry(0) : null
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [refusing], timings: quickTimings })
  await client.result(await client.start(refusing))
  expect(seen).toEqual([expected, expected])
})

test('STEP-03: an input or output that cannot be kept is a typed error that names its path', async () => {
  const returning = defineWorkflow({
    name: 'returning',
    input: z.unknown(),
    handler: (what) => unkeepable[String(what)]?.[1],
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [returning], timings: quickTimings })
  for (const [what, [path, value]] of Object.entries(unkeepable)) {
    await expect(client.start(returning, value)).rejects.toMatchObject({
      code: 'UNSERIALIZABLE',
      path: `input${path}`,
    })
    await expect(client.result(await client.start(returning, what))).rejects.toMatchObject({
      failure: 'rejected',
      cause: { code: 'UNSERIALIZABLE', path: `output${path}` },
    })
  }
})

test('STEP-03: an answer over 1 MiB and args over 64 KiB are typed errors too', async () => {
  const large = defineWorkflow({
    name: 'large',
    handler: async (_, run) => {
      const calls = [
        run.step('answer', () => 'x'.repeat(1_048_577)),
        run.step('args', () => fail('a body ran'), { args: ['x'.repeat(65_536)] }),
        run.step('fits', () => 'x'.repeat(1_048_574), { args: 'x'.repeat(65_534) }),
      ]
      return (await Promise.allSettled(calls)).map((each) =>
        each.status === 'fulfilled' ? each.value.length : (each.reason as { code: string }).code,
      )
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [large], timings: quickTimings })
  expect(await client.result(await client.start(large))).toEqual(['PAYLOAD_TOO_LARGE', 'PAYLOAD_TOO_LARGE', 1_048_574])
})
