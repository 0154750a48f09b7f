import { runInNewContext } from 'node:vm'
import { z } from 'zod'
import { defineWorkflow, LeaseLostError } from '../../src/index.ts'

/** Things that user code may throw, and what the stored error's text must tell of each. */

interface Thing {
  readonly make: () => unknown
  readonly says: string
}

const nul = '\0'
const lone = '\uD800'

function fault(): never {
  throw new Error('a trap')
}

const fails = { get: fault, enumerable: true, configurable: true }

function withGetters(names: readonly string[]): Error {
  return Object.defineProperties(new Error('with getters'), Object.fromEntries(names.map((name) => [name, fails])))
}

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function trapped(target: object): object {
  return new Proxy(target, {
    get: fault,
    has: fault,
    ownKeys: fault,
    getPrototypeOf: fault,
    getOwnPropertyDescriptor: fault,
    isExtensible: fault,
  })
}

/** As an HTTP client throws it: with its request and response, which hold each other. */
function httpError(): Error {
  const request: Record<string, unknown> = { path: '/charge', socket: { destroyed: false } }
  const response = { status: 503, data: { error: 'unavailable' }, request, config: { url: '/charge', adapter: fault } }
  request.res = response
  const error = Object.assign(new Error('Request failed with status code 503'), {
    code: 'ERR_BAD_RESPONSE',
    status: 503,
    request,
    response,
    toJSON: fault,
  })
  return Object.assign(error, { self: error })
}

class Unreadable extends Map<string, string> {
  override toString = fault
  override valueOf = fault
  toJSON = fault
  // Newer versions of Node print an object whose tag throws.
  override get size(): number {
    return fault()
  }
  override get [Symbol.toStringTag](): string {
    return fault()
  }
}

export const things: Readonly<Record<string, Thing>> = {
  undefined: { make: () => undefined, says: 'undefined' },
  null: { make: () => null, says: 'null' },
  'a text': { make: () => 'out of stock', says: 'out of stock' },
  'a number': { make: () => NaN, says: 'NaN' },
  'a bigint': { make: () => 12345678901234567890n, says: '12345678901234567890' },
  'a symbol': { make: () => Symbol('odd'), says: 'Symbol(odd)' },
  'a function': { make: () => fault, says: 'fault' },
  'a frozen object': { make: () => Object.freeze({ why: 'frozen' }), says: 'frozen' },
  'a frozen error': { make: () => Object.freeze(new Error('frozen')), says: 'frozen' },
  'an object without a prototype': { make: () => Object.assign(Object.create(null), { why: 'bare' }), says: 'bare' },
  'an error without a prototype': { make: () => Object.setPrototypeOf(new Error('bare'), null), says: 'bare' },
  'an error of another realm': { make: () => runInNewContext('new TypeError("elsewhere")'), says: 'elsewhere' },
  'a message of 10 MB': { make: () => new Error('too long '.repeat(1_200_000)), says: 'too long too long' },
  'a text of 10 MB': { make: () => 'too long '.repeat(1_200_000), says: 'too long too long' },
  'a field of 10 MB': { make: () => Object.assign(new Error('big'), { body: 'x'.repeat(10_000_000) }), says: 'big' },
  'a million items': { make: () => Array.from({ length: 1_000_000 }, () => 'item'), says: 'item' },
  'U+0000': {
    make: () => Object.assign(new Error(`a${nul}b`), { name: `N${nul}`, code: nul, stack: `s${nul}\n    at ${nul}` }),
    says: 'a\uFFFDb',
  },
  'U+0000 as a text': { make: () => `a${nul}b`, says: 'a' },
  'lone surrogates': {
    make: () => Object.assign(new Error(`a${lone}b`), { name: lone, code: lone, [lone]: lone, stack: lone }),
    says: 'a\uFFFDb',
  },
  'a message that throws': { make: () => withGetters(['message']), says: '' },
  'getters that all throw': {
    make: () =>
      withGetters(['name', 'message', 'stack', 'code', 'cause', 'errors', 'retryable', 'constructor', 'then']),
    says: '',
  },
  'a revoked Proxy': { make: revokedProxy, says: 'Proxy' },
  'a Proxy whose traps all throw': { make: () => trapped({}), says: '' },
  'a Proxy of an error whose traps all throw': { make: () => trapped(new Error('hidden')), says: '' },
  'a cause that is a revoked Proxy': { make: () => new Error('outer', { cause: revokedProxy() }), says: 'outer' },
  'errors that are revoked Proxies': { make: () => new AggregateError([revokedProxy()], 'several'), says: 'several' },
  'a cyclic HTTP error': { make: httpError, says: 'Request failed with status code 503' },
  'an object that cannot be printed': { make: () => new Unreadable(), says: 'cannot be read' },
  // oxlint-disable-next-line unicorn/no-thenable -- somebody's thenable
  'a thenable that throws': { make: () => ({ then: fault }), says: 'then' },
  // These look like what the database says when it is lost, or asks for another try.
  'a refused connection': {
    make: () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    says: 'connect ECONNREFUSED',
  },
  'a fetch that failed': {
    make: () => new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }),
    says: 'fetch failed',
  },
  'a serialization failure': { make: () => Object.assign(new Error('of ours'), { code: '40001' }), says: 'of ours' },
  'a bad value': { make: () => Object.assign(new Error('of ours'), { code: '22P02' }), says: 'of ours' },
  "another run's lost lease": { make: () => new LeaseLostError('of another', 'superseded'), says: 'of another' },
}

export const places = ['handler', 'step', 'transaction'] as const

/** Throws at its first attempt and is done at its second. */
export const throwing = defineWorkflow({
  name: 'throwing',
  input: z.object({ what: z.string(), where: z.enum(places) }),
  retry: { initial: '1h', jitter: 0 },
  handler: async ({ what, where }, run) => {
    const fail = (): void => {
      if (run.attempt === 1) throw things[what]?.make()
    }
    if (where === 'handler') fail()
    if (where === 'step') await run.step('fail', fail)
    if (where === 'transaction') {
      await run.transaction('fail', async (tx) => {
        await tx.query('insert into public.written values ($1)', [run.id])
        fail()
      })
    }
    return 'went on'
  },
})
