import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { parseStartOptions } from '../../src/define/parse-start-options.ts'
import { ArgumentError, DurationError } from '../../src/model/errors.ts'

const parse = (given?: unknown): ReturnType<typeof parseStartOptions> => parseStartOptions(given as never, 'welcome')

test('without options everything is left to the workflow and the clock', () => {
  const none = {
    key: undefined,
    id: undefined,
    at: undefined,
    delayMs: undefined,
    priority: undefined,
    metadata: {},
    maxAttempts: undefined,
    tx: undefined,
    allowDifferentInput: false,
  }
  expect(parse()).toEqual(none)
  expect(parse({})).toEqual(none)
  expect(parse({ key: undefined, at: undefined, delay: undefined })).toEqual(none)
})

test('what was given comes back resolved', () => {
  const at = new Date('2030-01-01T00:00:00Z')
  const tx = { query: () => Promise.resolve({ rows: [] }) }
  expect(
    parse({
      key: 'a@b.c',
      id: '018F4E5C-0000-7000-8000-00000000ABCD',
      at,
      priority: -32_768,
      metadata: { from: 'sign-up' },
      maxAttempts: 200,
      tx,
      allowDifferentInput: true,
    }),
  ).toEqual({
    key: 'a@b.c',
    id: '018f4e5c-0000-7000-8000-00000000abcd', // as Postgres gives it back
    at,
    delayMs: undefined,
    priority: -32_768,
    metadata: { from: 'sign-up' },
    maxAttempts: 100,
    tx,
    allowDifferentInput: true,
  })
  expect(parse({ tx }).tx).toBe(tx)
  expect(parse({ delay: '1h30m' }).delayMs).toBe(5_400_000)
  expect(parse({ delay: 0 }).delayMs).toBe(0)
})

test('a key may be as long as 512 characters of any plane', () => {
  expect(parse({ key: '😀'.repeat(512) }).key).toHaveLength(1024)
})

test('a Date of another realm is a Date', () => {
  const at = runInNewContext('new Date(0)') as Date
  expect(parse({ at }).at).toBe(at)
})

describe('refusals', () => {
  test.each([
    ['key', '', 'an empty string'],
    ['key', null, 'null'],
    ['key', 7, '7'],
    ['key', 'x'.repeat(513), 'a string'],
    ['key', 'a\0b', 'a string'],
    ['key', 'a\ud800', 'a string'],
    ['id', '', 'an empty string'],
    ['id', '42', 'a string'],
    ['id', '018f4e5c-0000-7000-8000-00000000abcg', 'a string'],
    ['id', 42, '42'],
    ['at', new Date(NaN), 'an invalid Date'],
    ['at', '2030-01-01', 'a string'],
    ['at', 1e12, '1000000000000'],
    ['at', new Date(8.64e15), 'a Date'],
    ['at', new Date(-8.64e15), 'a Date'],
    ['priority', 'high', 'a string'],
    ['priority', 32_768, '32768'],
    ['priority', NaN, 'NaN'],
    ['metadata', 'from=sign-up', 'a string'],
    ['metadata', ['a'], 'an array'],
    ['metadata', new Map([['a', 'b']]), 'an object'],
    ['metadata', { '': 'x' }, 'an empty string'],
    ['metadata', { 'a\0': 'x' }, 'a string'],
    ['metadata', Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`k${at}`, ''])), 'an object'],
    ['metadata.count', { count: 1 }, '1'],
    ['metadata.none', { none: undefined }, 'undefined'],
    ['metadata.long', { fits: 'x'.repeat(4096), long: 'x'.repeat(4097) }, 'a string'],
    ['metadata.bad', { bad: 'a\0' }, 'a string'],
    ['maxAttempts', 0, '0'],
    ['tx', {}, 'an object'],
    ['tx', null, 'null'],
    ['tx', 'BEGIN', 'a string'],
    ['allowDifferentInput', 1, '1'],
  ])('%s: %o is refused by name, kind and remedy', (field, value, kind) => {
    const given = { [field.split('.')[0]!]: value }
    expect(() => parse(given)).toThrow(ArgumentError)
    expect(() => parse(given)).toThrow(
      expect.objectContaining({
        field,
        message: expect.stringContaining(`start of 'welcome': ${field} got ${kind}. Give `),
      }),
    )
  })

  test('a refused text is never repeated in the message', () => {
    expect(() => parse({ id: 'secret' })).not.toThrow('secret')
    expect(() => parse({ metadata: { token: 'secret\0' } })).not.toThrow('secret')
  })

  test('TRY-08: a delay that is no duration is a typed error', () => {
    for (const delay of [NaN, -1, '5x', 1e20, null]) {
      expect(() => parse({ delay })).toThrow(DurationError)
      expect(() => parse({ delay })).toThrow(expect.objectContaining({ field: 'delay' }))
    }
  })

  test('at and delay together are refused, even where delay is nothing', () => {
    for (const delay of ['1h', 0]) {
      expect(() => parse({ at: new Date(), delay })).toThrow(ArgumentError)
      expect(() => parse({ at: new Date(), delay })).toThrow(expect.objectContaining({ field: 'delay' }))
    }
  })

  test('an unknown option is refused with the close one suggested', () => {
    expect(() => parse({ idempotencyKey: 'k' })).toThrow(ArgumentError)
    expect(() => parse({ dellay: '1h' })).toThrow('unknown option dellay. Did you mean delay? Known are: key, id, at, ')
  })

  test.each([null, 'key', 5, []])('%o instead of options is refused', (given) => {
    expect(() => parse(given)).toThrow(ArgumentError)
  })
})

describe('metadata', () => {
  test('is copied, so that later changes do not reach the run', () => {
    const metadata: Record<string, string> = { a: '1' }
    const parsed = parse({ metadata })
    metadata['a'] = '2'
    expect(parsed.metadata).toEqual({ a: '1' })
    expect(Object.isFrozen(parsed.metadata)).toBe(true)
  })

  test('keeps entries with the names of built-in properties', () => {
    const metadata = JSON.parse('{"__proto__": "p", "constructor": "c", "toString": "t"}') as Record<string, string>
    expect(Object.entries(parse({ metadata }).metadata)).toEqual([
      ['__proto__', 'p'],
      ['constructor', 'c'],
      ['toString', 't'],
    ])
  })

  test('may have no prototype, or be of another realm', () => {
    expect(parse({ metadata: Object.assign(Object.create(null), { a: '1' }) }).metadata).toEqual({ a: '1' })
    expect(parse({ metadata: runInNewContext('({ a: "1" })') }).metadata).toEqual({ a: '1' })
  })
})
