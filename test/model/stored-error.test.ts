import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LeaseLostError, NonRetryableError, TimeoutError } from '../../src/model/errors.ts'
import type { ErrorClass } from '../../src/model/policy.ts'
import { unstorable } from '../../src/model/storable.ts'
import type { StoredError } from '../../src/model/stored-error.ts'
import { isNonRetryable, reviveError, storeError } from '../../src/model/stored-error.ts'

class PaymentError extends Error {
  readonly #secret = 'only its constructor sets this'
  readonly declineCode: string
  readonly details = { amount: 12, tags: ['a'] }

  constructor(message: string, declineCode: string, options?: ErrorOptions) {
    if (!declineCode) throw new TypeError('runs with arguments only')
    super(message, options)
    this.declineCode = declineCode
  }

  secret(): string {
    return this.#secret
  }
}
class FinalError extends Error {}
class VeryFinalError extends FinalError {}

/** What a replay sees: through the database and back. */
function replayed(stored: StoredError, classes: readonly ErrorClass[] = []): Error {
  return reviveError(JSON.parse(JSON.stringify(stored)) as StoredError, classes)
}

function httpError(): Error {
  const config = { url: '/x', transform: () => 1 }
  const request: Record<string, unknown> = { config, socket: new Map(), path: '/x' }
  const response = { status: 503, config, request, data: 'busy' }
  request['res'] = response
  return Object.assign(new Error('Request failed'), {
    isAxiosError: true,
    code: 'ERR',
    status: 503,
    config,
    request,
    response,
  })
}

function selfCaused(): Error {
  const error = new Error('again')
  error.cause = error
  return error
}

const revoked = Proxy.revocable({}, {})
revoked.revoke()
const revokedFunction = Proxy.revocable(() => 1, {})
revokedFunction.revoke()

const throwing: ProxyHandler<Error> = new Proxy(
  {},
  {
    get: () => () => {
      throw new Error('trap')
    },
  },
)

function getters(target: object): object {
  for (const key of ['stack', 'name', 'message', 'code', 'cause', 'errors', 'retryable', 'constructor', 'extra']) {
    const get = (): never => {
      throw new Error(`no ${key}`)
    }
    Object.defineProperty(target, key, { get, enumerable: true })
  }
  return target
}

const odd = '\0 and \ud800'
const deep = Array.from({ length: 50 }).reduce<Error>(
  (cause, _, at) => new Error(`level ${at}`, { cause }),
  new Error('root'),
)

const thrownThings: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['false', false],
  ['NaN', NaN],
  ['a bigint', 12n],
  ['a symbol', Symbol('lost')],
  ['a string', 'just text'],
  ['an empty string', ''],
  ['a 10 MB string', 'x'.repeat(10_000_000)],
  ['a function', function handler() {}],
  ['a class', PaymentError],
  ['a plain object', { status: 404, code: 'E_GONE', nested: { a: [1] }, retryable: false, errors: [], '': 1 }],
  ['a frozen object', Object.freeze({ a: 1 })],
  ['an object without prototype', Object.assign(Object.create(null) as object, { a: 1 })],
  ['an array', [1, new Error('x')]],
  ['a cyclic object', Object.assign(runInNewContext('const a = {}; a.a = a; a') as object, { code: 7 })],
  ['an object whose getters throw', getters({})],
  ['an object with 1000 properties', Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`key${at}`, odd]))],
  ['a revoked proxy', revoked.proxy],
  ['a revoked function proxy', revokedFunction.proxy],
  ['a proxy whose every trap throws', new Proxy(new Error('x'), throwing)],
  ['an Error', new Error('plain')],
  ['a frozen Error', Object.freeze(new Error('frozen'))],
  ['an Error with a 10 MB message', new Error('m'.repeat(10_000_000))],
  ['an Error of control characters', Object.assign(new Error('\x01'.repeat(9_000)), { code: '\x01'.repeat(900) })],
  [
    'an Error with U+0000 and lone surrogates',
    Object.assign(new Error(odd), { name: odd, code: odd, [odd]: 1, at: { [odd]: odd } }),
  ],
  ['an Error with much of everything', Object.assign(new Error('x'.repeat(9_000)), Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`k${at}`, '€'.repeat(3_000)])))], // prettier-ignore
  [
    'an Error whose fields are nearly too large',
    Object.assign(new Error('x'), { list: ['\0'.repeat(900)], big: { a: 'x'.repeat(3_000) } }),
  ],
  ['an Error whose getters throw', getters(new Error('x'))],
  [
    'an Error whose name, message and stack are no strings',
    Object.assign(new Error(), { name: 7, message: { a: 1 }, stack: null }),
  ],
  ['an Error without stack', Object.assign(new Error('x'), { stack: undefined })],
  ['an Error of another realm', runInNewContext('new TypeError("elsewhere")')],
  ['a cyclic HTTP error', httpError()],
  ['an Error that causes itself', selfCaused()],
  ['a chain of 50 causes', deep],
  ['an Error caused by text', new Error('x', { cause: 'text' })],
  ['an Error caused by an object', new Error('x', { cause: { code: 'ECONNRESET', port: 5432 } })],
  ['an AggregateError', new AggregateError([new TypeError('a'), new Error('b', { cause: 5n })], 'both')],
  ['an empty AggregateError', new AggregateError([], 'none')],
  [
    'an AggregateError of many',
    new AggregateError(Array.from({ length: 500 }, () => new AggregateError([deep, 'x'.repeat(9_000)]))),
  ],
  [
    'an Error with a list of issues',
    Object.assign(new Error('x'), { errors: [{ path: 'a', message: 'b' }], issues: [] }),
  ],
  ['a DOMException', new DOMException('stop', 'AbortError')],
  ['an Error with numbers JSON changes', Object.assign(new Error('x'), { a: -0, b: NaN, c: 1n, code: -0 })],
  ['an Error with __proto__', Object.defineProperty(new Error('x'), '__proto__', { value: 1, enumerable: true })],
  ['a Holdfast error', new LeaseLostError('gone', 'superseded', { field: 'run' })],
  ['a class of its own', new PaymentError('declined', 'no_funds', { cause: new FinalError('root') })],
]

function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => [key, ...texts(member)])
}

describe('whatever is thrown', () => {
  test.each(thrownThings)('TRY-07: %s is stored readable, bounded and storable', (_, thrown) => {
    const stored = storeError(thrown)
    expect(JSON.parse(JSON.stringify(stored))).toStrictEqual(stored)
    expect(Buffer.byteLength(JSON.stringify(stored))).toBeLessThan(32 * 1024)
    expect(Buffer.byteLength(stored.message)).toBeLessThanOrEqual(8 * 1024)
    expect(Buffer.byteLength(stored.stack ?? '')).toBeLessThanOrEqual(4 * 1024)
    expect(texts(stored).filter((text) => unstorable(text) !== undefined)).toEqual([])
    expect(stored.name).not.toBe('')
  })

  test.each(thrownThings)('TRY-07: %s gives the same stored form again after a replay', (_, thrown) => {
    const stored = storeError(thrown)
    expect(storeError(replayed(stored))).toStrictEqual(stored)
    expect(storeError(replayed(stored, [PaymentError, FinalError]))).toStrictEqual(stored)
    expect(isNonRetryable(replayed(stored), [])).toBe(isNonRetryable(thrown, []))
  })

  test('TRY-07: anything at all can be thrown, as itself, as a cause or as a property', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
    })
    fc.assert(
      fc.property(anything, fc.string({ unit: 'binary' }), (value, message) => {
        for (const thrown of [value, Object.assign(new Error(message, { cause: value }), { value })]) {
          const stored = storeError(thrown)
          expect(Buffer.byteLength(JSON.stringify(stored))).toBeLessThan(32 * 1024)
          expect(storeError(replayed(stored))).toStrictEqual(stored)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('TRY-07: something other than an Error is said to be that, with what it was', () => {
    expect(storeError({ status: 404 })).toEqual({
      name: 'NonError',
      message: 'Something other than an Error was thrown: { status: 404 }',
      value: '{ status: 404 }',
      fields: { status: 404 },
      isError: false,
    })
    expect(storeError(undefined)).toMatchObject({ isError: false, value: 'undefined' })
    expect(storeError(Symbol('lost'))).toMatchObject({ value: 'Symbol(lost)' })
    expect(replayed(storeError('text'))).toMatchObject({ name: 'NonError', thrown: 'text' })
  })

  test('TRY-07: a long message keeps its beginning and the stack its frames', () => {
    const { message, stack } = storeError(new Error(`begin ${'m'.repeat(100_000)}`))
    expect(message.startsWith('begin m')).toBe(true)
    expect(message.endsWith('m…')).toBe(true)
    expect(stack).toContain('stored-error.test.ts')
  })

  test('TRY-07: of a cyclic HTTP error the readable part is kept', () => {
    expect(storeError(httpError())).toMatchObject({
      message: 'Request failed',
      code: 'ERR',
      fields: { isAxiosError: true, status: 503 },
    })
  })

  test('TRY-07: an Error that causes itself is kept once', () => {
    expect(storeError(selfCaused())).not.toHaveProperty('cause')
  })

  test('TRY-07: causes are kept five deep', () => {
    let depth = 0
    for (let cause = storeError(deep).cause; cause; cause = cause.cause) depth++
    expect(depth).toBe(5)
  })
})

describe('the same branch on the first run and on every replay', () => {
  test('a listed class comes back as an instance, without its constructor running', () => {
    const first = new PaymentError('declined', 'no_funds')
    const again = replayed(storeError(first), [FinalError, PaymentError]) as PaymentError
    expect(again).toBeInstanceOf(PaymentError)
    expect(again).toMatchObject({ name: 'Error', message: 'declined', declineCode: 'no_funds' })
    expect(again.details).toEqual({ amount: 12, tags: ['a'] })
    expect(again.stack).toBe(first.stack)
    expect(Object.keys(again)).toEqual(Object.keys(first))
  })

  test('an unlisted class comes back as an Error with its name', () => {
    const thrown = Object.assign(new PaymentError('declined', 'no_funds'), { name: 'PaymentError' })
    const again = replayed(storeError(thrown))
    expect(Object.getPrototypeOf(again)).toBe(Error.prototype)
    expect(again).toMatchObject({ name: 'PaymentError', message: 'declined', declineCode: 'no_funds' })
  })

  test('cause and cause.code survive, also where the cause is no Error', () => {
    const cause = Object.assign(new RangeError('reset'), { code: 'ECONNRESET' })
    const again = replayed(storeError(new Error('x', { cause })))
    expect(again.cause).toBeInstanceOf(RangeError)
    expect(again.cause).toMatchObject({ code: 'ECONNRESET' })
    expect(replayed(storeError(new Error('x', { cause: { code: 7 } }))).cause).toMatchObject({ code: 7 })
  })

  test('the errors of an AggregateError survive', () => {
    const again = replayed(storeError(new AggregateError([new PaymentError('a', 'b'), 'text'], 'x')), [PaymentError])
    const both = replayed(storeError(new AggregateError([new PaymentError('a', 'b')], 'x')), [PaymentError])
    expect(again).toBeInstanceOf(AggregateError)
    expect((both as AggregateError).errors[0]).toBeInstanceOf(PaymentError)
  })

  test("Holdfast's own errors keep class, code and fields", () => {
    const again = replayed(storeError(new LeaseLostError('gone', 'superseded')))
    expect(again).toBeInstanceOf(LeaseLostError)
    expect(again).toMatchObject({ name: 'LeaseLostError', code: 'LEASE_LOST', reason: 'superseded' })
    expect(replayed(storeError(new TimeoutError('late')))).toMatchObject({ name: 'TimeoutError', code: 'TIMEOUT' })
  })

  test('changing a revived error changes neither the stored one nor the next revived', () => {
    const stored = storeError(new PaymentError('declined', 'no_funds'))
    const first = reviveError(stored, [PaymentError]) as PaymentError
    first.details.tags.push('changed')
    expect(storeError(first)).not.toEqual(stored)
    expect((reviveError(stored, [PaymentError]) as PaymentError).details.tags).toEqual(['a'])
  })
})

const finals: [string, unknown][] = [
  ['a NonRetryableError', new NonRetryableError('no')],
  ['an Error marked so', Object.assign(new Error('no'), { retryable: false })],
  ['an object marked so', { retryable: false }],
  ['a listed class', new FinalError('no')],
  ['a subclass of a listed class', new VeryFinalError('no')],
  ['one as cause', new Error('wrapped', { cause: new FinalError('no') })],
  ['one as cause of a cause', new Error('a', { cause: new Error('b', { cause: new NonRetryableError('no') }) })],
  ['one among several', new AggregateError([new Error('a'), new FinalError('no')])],
  [
    'one deeper than causes are kept',
    Array.from({ length: 9 }).reduce((cause) => new Error('x', { cause }), new FinalError('no')),
  ],
]

describe('no further try', () => {
  test.each(finals)('TRY-06: %s is non-retryable, and still after a replay that knows no class', (_, thrown) => {
    expect(isNonRetryable(thrown, [FinalError])).toBe(true)
    const stored = storeError(thrown, { nonRetryable: [FinalError] })
    expect(isNonRetryable(replayed(stored), [])).toBe(true)
    expect(isNonRetryable(new Error('rethrown', { cause: replayed(stored) }), [])).toBe(true)
    expect(storeError(replayed(stored))).toStrictEqual(stored)
  })

  test.each([
    ['an Error', new Error('x')],
    ['one whose retryable is true', Object.assign(new Error('x'), { retryable: true })],
    ['a class not listed', new PaymentError('x', 'y')],
    ['one that causes itself', selfCaused()],
    ['undefined', undefined],
    ['a revoked proxy', revoked.proxy],
  ])('%s is retryable', (_, thrown) => {
    expect(isNonRetryable(thrown, [FinalError])).toBe(false)
  })

  test('a graph of errors without end is looked at for a while only', () => {
    const endless = (): Error => Object.defineProperty(new Error('x'), 'cause', { get: endless })
    expect(isNonRetryable(endless(), [])).toBe(false)
    expect(storeError(endless()).message).toBe('x')
  })
})
