import { isDeepStrictEqual } from 'node:util'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, defaultMaxBytes, encode } from '../../src/model/codec.ts'
import { PayloadTooLargeError, UnserializableError } from '../../src/model/errors.ts'

function roundTrip(value: unknown): unknown {
  const { json, types } = encode(value, 'input')
  // As a json column and a text column give them back.
  return decode(JSON.parse(JSON.stringify(json)) as string, types)
}

function own(key: string, value: unknown): object {
  return Object.defineProperty({}, key, { value, enumerable: true, writable: true, configurable: true })
}

class PaymentError extends Error {
  override readonly name = 'PaymentError'
}

const buffer = Uint8Array.from([0, 1, 254, 255, 7, 8, 9, 10]).buffer

const kinds: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['an empty string', ''],
  ['a string', 'grüße 👋'],
  ['a string with U+0000', 'a\0b'],
  ['a string with lone surrogates', '\ud800 and \udfff'],
  ['0', 0],
  ['-0', -0],
  ['a fraction', 0.1],
  ['the largest number', Number.MAX_VALUE],
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['false', false],
  ['a bigint', 2n ** 80n],
  ['a negative bigint', -1n],
  ['a Date', new Date('2024-02-29T12:00:00.123Z')],
  ['the last Date', new Date(8.64e15)],
  [
    'a Map',
    new Map<unknown, unknown>([
      ['a', 1],
      [1n, new Date(1)],
      ['1', undefined],
      [{ k: 1 }, new Set([NaN])],
    ]),
  ],
  ['an empty Map', new Map()],
  ['a Set', new Set<unknown>([1, '1', 1n, undefined, null, NaN, { a: 1 }])],
  ['an Error', new Error('broken')],
  ['an Error with cause and code', Object.assign(new Error('x', { cause: { at: new Date(5) } }), { code: 'E_X' })],
  ['a TypeError within an Error', new Error('x', { cause: Object.assign(new Error('y'), { code: 23505 }) })],
  ['an Error whose cause is undefined', new Error('x', { cause: undefined })],
  ['an Int8Array', new Int8Array(buffer)],
  ['a Uint8Array', new Uint8Array(buffer)],
  ['a Uint8ClampedArray', new Uint8ClampedArray(buffer)],
  ['an Int16Array', new Int16Array(buffer)],
  ['a Uint16Array', new Uint16Array(buffer)],
  ['an Int32Array', new Int32Array(buffer)],
  ['a Uint32Array', new Uint32Array(buffer)],
  ['a Float32Array', new Float32Array([1.5, -0, Infinity])],
  ['a Float64Array', new Float64Array([0.1, -0, NaN, -Infinity])],
  ['a BigInt64Array', new BigInt64Array([-1n, 2n ** 62n])],
  ['a BigUint64Array', new BigUint64Array([2n ** 63n])],
  ['a window on a larger buffer', new Uint16Array(buffer, 2, 2)],
  ['a DataView', new DataView(buffer)],
  ['a Buffer', Buffer.from('häß')],
  ['an ArrayBuffer', buffer],
  ['a URL', new URL('https://user@example.com/a?b=c#d')],
  ['a RegExp', /a\/b\n[/]/giu],
  ['undefined in an object', { a: undefined, b: 1 }],
  ['undefined in an array', [undefined, 1, undefined]],
  ['plain JSON', { user_id: 1, userId: 2, list: [[], {}, null, 'x'], nested: { deep: [{ er: true }] } }],
  ['a mixture', { a: [new Map([['m', { s: new Set([new Date(1), 5n]) }]])], b: { c: [undefined, -0, { d: NaN }] } }],
  ['the same bigint many times', Array.from({ length: 50 }, () => 7n)],
  ['plain keys that look special', { 'a.b': 1, '': 2, 'a\\.b': 3, '0': 4, length: 5, valueOf: 6, toString: 7 }],
  ['special keys beside a Date', { 'a.b': new Date(1), '': new Date(2), 'a\\.b': 3n, '0': 4n, length: 5n, 'a\\': NaN }],
  ['refused keys', { constructor: 1, prototype: { constructor: 2 } }],
  ['refused keys beside a Date', { constructor: new Date(1), prototype: { constructor: 2n, ok: new Set([1]) }, d: 3n }],
  ['__proto__ as plain data', own('__proto__', { polluted: true })],
  ['__proto__ beside a Date', { at: new Date(1), inner: own('__proto__', { polluted: 1n }) }],
]

describe('kept exactly', () => {
  test.each(kinds)('STEP-03: %s comes back the same, also nested, on the first run and on every replay', (_, value) => {
    const once = roundTrip(value)
    expect(isDeepStrictEqual(once, value)).toBe(true)
    expect(isDeepStrictEqual(roundTrip(once), value)).toBe(true)
    const nested = { list: [value, { value }], map: new Map([['k', value]]) }
    expect(isDeepStrictEqual(roundTrip(nested), nested)).toBe(true)
    expect(Object.getPrototypeOf(Object(once))).toBe(Object.getPrototypeOf(Object(value)))
  })

  test('STEP-03: an invalid Date comes back invalid', () => {
    const back = roundTrip({ at: [new Date(NaN)] }) as { at: Date[] }
    expect(back.at[0]).toBeInstanceOf(Date)
    expect(back.at[0]?.getTime()).toBeNaN()
  })

  test('STEP-03: a sparse array comes back with undefined in its holes', () => {
    // oxlint-disable-next-line no-sparse-arrays
    expect(roundTrip([1, , 3])).toStrictEqual([1, undefined, 3])
  })

  test('STEP-03: a subclass of Error becomes an Error with its name, message, cause and code', () => {
    const thrown = Object.assign(new PaymentError('declined', { cause: new RangeError('limit') }), { code: 'DECLINED' })
    const back = roundTrip({ thrown }) as { thrown: Error & { code: string } }
    expect(Object.getPrototypeOf(back.thrown)).toBe(Error.prototype)
    expect(back.thrown).toMatchObject({ name: 'PaymentError', message: 'declined', code: 'DECLINED' })
    expect(back.thrown.cause).toMatchObject({ name: 'RangeError', message: 'limit' })
    expect(back.thrown.stack).toBe('PaymentError: declined')
  })

  test('STEP-03: the errors of an AggregateError are kept', () => {
    const back = roundTrip(new AggregateError([new Error('a'), 5n], 'both')) as AggregateError
    expect(back.name).toBe('AggregateError')
    expect(back.errors).toMatchObject([{ message: 'a' }, 5n])
  })

  test('STEP-03: a null prototype, an array subclass and an object of another realm come back plain', () => {
    class Rows extends Array<unknown> {}
    expect(roundTrip(Object.assign(Object.create(null) as object, { a: 1n }))).toStrictEqual({ a: 1n })
    expect(roundTrip(Rows.from([1, new Date(1)]))).toStrictEqual([1, new Date(1)])
    expect(roundTrip(Rows.from([1]))).toStrictEqual([1])
    expect(roundTrip(runInNewContext('({ a: [1, { b: 2n }] })'))).toStrictEqual({ a: [1, { b: 2n }] })
  })

  test('STEP-03: symbol keys and non-enumerable properties are left out, as in JSON', () => {
    const value = Object.defineProperty({ a: 1, [Symbol('s')]: 2 }, 'hidden', { value: () => 3 })
    expect(roundTrip(value)).toStrictEqual({ a: 1 })
    expect(roundTrip(Object.defineProperty({ a: 1 }, 'toJSON', { value: () => 'changed' }))).toStrictEqual({ a: 1 })
  })

  test('STEP-03: an object met twice comes back as two equal ones', () => {
    const at = { on: new Date(1) }
    const back = roundTrip({ one: at, other: [at], set: new Set([at]) })
    expect(back).toStrictEqual({ one: at, other: [at], set: new Set([at]) })
  })

  test('__proto__ never pollutes', () => {
    const back = roundTrip({ at: new Date(1), inner: own('__proto__', { polluted: 1n }) }) as { inner: object }
    expect(Object.hasOwn(back.inner, '__proto__')).toBe(true)
    expect(Object.getPrototypeOf(back.inner)).toBe(Object.prototype)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test('any mixture comes back the same', () => {
    const mixtures = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: false,
      withNullPrototype: false,
    })
    fc.assert(
      fc.property(mixtures, (value) => {
        expect(roundTrip(value)).toStrictEqual(value)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('stored form', () => {
  test('plain JSON has no annotation and is what JSON.stringify writes', () => {
    const value = { ok: true, list: [1, 'a', null], constructor: { user_id: 1 } }
    expect(encode(value, 'input')).toEqual({ json: JSON.stringify(value), types: null })
  })

  test.each(kinds)('%s is stored as valid JSON text in which SQL finds no raw U+0000', (_, value) => {
    const { json, types } = encode(value, 'input')
    expect(() => JSON.parse(json) as unknown).not.toThrow()
    expect(`${json}${types}`).not.toContain('\0')
    expect(`${json}${types}`).not.toMatch(/[\ud800-\udfff]/u)
  })

  test('undefined and null differ', () => {
    expect(encode(undefined, 'input').json).toBe('null')
    expect(encode(undefined, 'input')).not.toEqual(encode(null, 'input'))
  })

  test('what was not written by encode is a typed error', () => {
    expect(() => decode('{', null)).toThrow(UnserializableError)
    expect(() => decode('null', '{"values":["future-kind"],"v":1}')).toThrow(UnserializableError)
    expect(() => decode('["Future",""]', '{"values":[["custom","leaf"]],"v":1}')).toThrow(UnserializableError)
  })
})

class Decimal {
  readonly digits = '1.5'
}
class Money extends Map<string, number> {}

const loop: { user: { friends: unknown[] } } = { user: { friends: [] } }
loop.user.friends.push({ me: loop.user })
const selfSet = new Set<unknown>()
selfSet.add(selfSet)
const selfCaused = new Error('x')
selfCaused.cause = selfCaused
const thrower = {
  get name(): string {
    throw new TypeError('no')
  },
}
const hostile = new Proxy({}, { ownKeys: () => { throw new RangeError('no') } }) // prettier-ignore
const revoked = Proxy.revocable({}, {})
revoked.revoke()

const refused: [string, unknown, string, string][] = [
  ['a function', () => 1, 'input', 'a function'],
  ['a function below', { user: { tags: [1, 2, 3, () => 1] } }, 'input.user.tags[3]', 'a function'],
  ['a class', { C: Decimal }, 'input.C', 'a function'],
  ['a method', { a: 1, toJSON: () => 2 }, 'input.toJSON', 'a function'],
  ['a symbol', [Symbol('x')], 'input[0]', 'a symbol'],
  ['a class instance', { price: new Decimal() }, 'input.price', 'an instance of Decimal'],
  ['a subclass of Map', { m: new Money() }, 'input.m', 'an instance of Money'],
  ['a WeakMap', { cache: new WeakMap() }, 'input.cache', 'an instance of WeakMap'],
  ['a promise', { later: Promise.resolve(1) }, 'input.later', 'a promise'],
  ['a Response', { r: new Response('x') }, 'input.r', 'an instance of Response'],
  ['a boxed string', [new String('x')], 'input[0]', 'an instance of String'],
  ['a SharedArrayBuffer', new SharedArrayBuffer(8), 'input', 'an instance of SharedArrayBuffer'],
  ['an unnamed prototype', Object.create(Object.create({})) as object, 'input', 'an instance of Object'],
  ['an odd key', { 'a.b': { '': Symbol('x') } }, 'input["a.b"][""]', 'a symbol'],
  ['a Map value', { m: new Map([['k', [() => 1]]]) }, 'input.m.get("k")[0]', 'a function'],
  ['a Map value under an object', new Map([[{}, () => 1]]), 'input.values()[0]', 'a function'],
  ['a Map key', new Map([[Symbol('x'), 1]]), 'input.keys()[0]', 'a symbol'],
  ['a Set member', { s: new Set([1, () => 1]) }, 'input.s.values()[1]', 'a function'],
  ['the cause of an Error', { e: new Error('x', { cause: () => 1 }) }, 'input.e.cause', 'a function'],
  ['a cycle', loop, 'input.user.friends[0].me', 'a reference back to input.user'],
  ['a Set within itself', selfSet, 'input.values()[0]', 'a reference back to input'],
  ['an Error that causes itself', { e: selfCaused }, 'input.e.cause', 'a reference back to input.e'],
  ['a getter that throws', { user: thrower }, 'input.user.name', 'something that throws when it is read'],
  ['a hostile proxy', { p: hostile }, 'input.p', 'something that throws when it is read'],
  ['a revoked proxy', [revoked.proxy], 'input[0]', 'something that throws when it is read'],
  ['a false Date', [Object.create(Date.prototype)], 'input[0]', 'something that throws when it is read'],
]

describe('refused', () => {
  test.each(refused)('STEP-03: %s is a typed error that names its path', (_, value, path, what) => {
    expect.assertions(3)
    try {
      encode(value, 'input')
    } catch (error) {
      expect(error).toBeInstanceOf(UnserializableError)
      expect(error).toMatchObject({ code: 'UNSERIALIZABLE', path, field: path, remedy: expect.any(String) as string })
      expect((error as Error).message).toContain(`${path} is ${what}, which cannot be stored. `)
    }
  })

  test('STEP-03: nesting beyond 1000 levels is a typed error, never a stack overflow', () => {
    const nest = (levels: number, leaf: unknown): unknown => {
      let value = leaf
      for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value }
      return value
    }
    expect(roundTrip(nest(1_000, 1))).toStrictEqual(nest(1_000, 1))
    expect(isDeepStrictEqual(roundTrip(nest(500, 1n)), nest(500, 1n))).toBe(true)
    for (const leaf of [1, 1n]) {
      expect(() => encode(nest(100_000, leaf), 'input')).toThrow(UnserializableError)
      expect(() => encode(nest(100_000, leaf), 'input')).toThrow('nested deeper than 1000 levels')
    }
  })

  test('a value over 1 MiB of stored bytes is refused with its size and the limit', () => {
    const fits = 'x'.repeat(defaultMaxBytes - 2)
    expect(encode(fits, 'input').json.length).toBe(defaultMaxBytes)
    expect(() => encode(`${fits}x`, 'input')).toThrow(PayloadTooLargeError)
    expect(() => encode(`${fits}x`, 'input')).toThrow('input is 1048577 bytes as stored; the limit is 1048576 bytes.')
  })

  test('bytes count, not characters, and the annotation counts too', () => {
    expect(() => encode('€€€', 'input', { maxBytes: 10 })).toThrow(expect.objectContaining({ field: 'input' }))
    expect(encode('€€€', 'input', { maxBytes: 11 }).types).toBeNull()
    const { json, types } = encode([1n], 'input')
    const size = json.length + (types?.length ?? 0)
    expect(() => encode([1n], 'input', { maxBytes: size - 1 })).toThrow(PayloadTooLargeError)
    expect(encode([1n], 'input', { maxBytes: size }).json).toBe(json)
  })

  test.each([
    ['plain', (): unknown => ({})],
    ['annotated', (): unknown => ({ at: new Date(1) })],
  ])('a small %s graph that unfolds to a huge tree is refused, not written out', (_, leaf) => {
    let value = leaf()
    for (let level = 0; level < 60; level++) value = [value, value]
    expect(() => encode(value, 'input', { maxBytes: 10_000 })).toThrow(PayloadTooLargeError)
  })

  test('a large buffer is refused before it is copied', () => {
    expect(() => encode({ file: Buffer.alloc(2 * defaultMaxBytes) }, 'input')).toThrow('more than 1048576 bytes')
  })
})
