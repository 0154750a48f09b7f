import { describe, expect, test } from 'vitest'
import { defineWorkflow } from '../../src/define/define-workflow.ts'
import { parseClientOptions } from '../../src/define/parse-client-options.ts'
import { parseWorkerOptions } from '../../src/define/parse-worker-options.ts'
import { ConfigError, DurationError } from '../../src/model/errors.ts'

const workflow = defineWorkflow({ name: 'welcome', handler: () => 1 })
const pool = { query: () => {}, connect: () => {} }
const client = { start: () => {}, close: () => {} }
const worker = (options: object): ReturnType<typeof parseWorkerOptions> =>
  parseWorkerOptions({ workflows: [workflow], ...options })

const untold = {
  tracing: { propagation: 'link', runKey: false, groupKey: false },
  tracerProvider: undefined,
  meterProvider: undefined,
}

test('a client has defaults for everything but its connection', () => {
  const defaults = {
    connectionString: undefined,
    pool: undefined,
    schema: 'holdfast',
    migrate: 'auto',
    logger: undefined,
    traceUrl: undefined,
    ...untold,
  }
  expect(parseClientOptions(undefined)).toEqual(defaults)
  expect(parseClientOptions({})).toEqual(defaults)
})

test('a worker has defaults for everything but its workflows', () => {
  const { workflows, ...rest } = worker({})
  expect(workflows.names).toEqual(['welcome'])
  expect(rest).toEqual({
    client: undefined,
    connectionString: undefined,
    pool: undefined,
    schema: 'holdfast',
    migrate: 'auto',
    logger: undefined,
    ...untold,
    concurrency: 16,
    graceMs: 20_000,
    handleSignals: false,
  })
})

test('what was given comes back as it is', () => {
  const providers = { tracerProvider: { getTracer: () => ({}) }, meterProvider: { getMeter: () => ({}) } }
  const traceUrl = 'https://traces.example/{traceId}'
  const tracing = { propagation: 'child', runKey: true, groupKey: true }
  const given = { pool, schema: 'Odd "schema"', migrate: 'off', logger: console, tracing, traceUrl, ...providers }
  expect(parseClientOptions(given)).toEqual({ ...given, connectionString: undefined })
  expect(parseClientOptions(given).pool).toBe(pool)
  expect(parseClientOptions({ tracing: { runKey: true } }).tracing).toEqual({ ...untold.tracing, runKey: true })
  const resolved = worker({ client, logger: console, concurrency: 1, grace: 0, handleSignals: true })
  expect(resolved).toMatchObject({ concurrency: 1, graceMs: 0, handleSignals: true })
  expect(resolved.client).toBe(client)
})

describe('refusals', () => {
  test.each([
    ['connectionString', '', 'an empty string'],
    ['connectionString', {}, 'an object'],
    ['pool', {}, 'an object'],
    ['pool', 'postgres://', 'a string'],
    ['schema', '', 'an empty string'],
    ['schema', 'a\0', 'a string'],
    ['schema', 'pg_mine', 'a string'],
    ['schema', 'ü'.repeat(29), 'a string'],
    ['migrate', true, 'true'],
    ['migrate', 'always', 'a string'],
    ['logger', { info: () => {} }, 'an object'],
    ['logger', false, 'false'],
    ['tracing', 'child', 'a string'],
    ['tracerProvider', {}, 'an object'],
    ['meterProvider', { getMeter: 1 }, 'an object'],
  ])('OPS-07: a %s of %o is refused by client and worker', (field, value, kind) => {
    for (const [parse, name] of [
      [parseClientOptions, 'createClient'],
      [worker, 'createWorker'],
    ] as const) {
      expect(() => parse({ [field]: value })).toThrow(ConfigError)
      expect(() => parse({ [field]: value })).toThrow(
        expect.objectContaining({ field, message: expect.stringContaining(`${name}: ${field} got ${kind}. Give `) }),
      )
    }
  })

  test.each([
    ['propagation', 'links', 'a string'],
    ['runKey', 1, '1'],
    ['groupKey', null, 'null'],
  ])('OPS-07: tracing with %s of %o is refused by client and worker', (field, value, kind) => {
    for (const parse of [parseClientOptions, worker]) {
      const message = expect.stringContaining(`tracing.${field} got ${kind}. Give `) as string
      expect(() => parse({ tracing: { [field]: value } })).toThrow(
        expect.objectContaining({ field: `tracing.${field}`, message }),
      )
    }
    expect(() => worker({ tracing: { propagate: 'link' } })).toThrow('Did you mean propagation?')
  })

  test.each([['https://traces.example/'], [''], [7]])('OPS-07: a traceUrl of %o is refused', (traceUrl) => {
    expect(() => parseClientOptions({ traceUrl })).toThrow(
      expect.objectContaining({ field: 'traceUrl', message: expect.stringContaining('{traceId}') as string }),
    )
  })

  test('a schema name may have as many bytes as leave room for the name of the queue', () => {
    expect(parseClientOptions({ schema: 'x'.repeat(57) }).schema).toHaveLength(57)
    expect(() => parseClientOptions({ schema: 'x'.repeat(58) })).toThrow(ConfigError)
  })

  test.each([
    ['concurrency', 0, '0'],
    ['concurrency', -1, '-1'],
    ['concurrency', 1.5, '1.5'],
    ['concurrency', '16', 'a string'],
    ['concurrency', Infinity, 'Infinity'],
    ['handleSignals', 'SIGTERM', 'a string'],
    ['client', { start: 1 }, 'an object'],
    ['client', null, 'null'],
    ['workflows', [], 'an empty array'],
    ['workflows', undefined, 'undefined'],
  ])('OPS-07: a worker with %s of %o is refused', (field, value, kind) => {
    expect(() => worker({ [field]: value })).toThrow(ConfigError)
    expect(() => worker({ [field]: value })).toThrow(
      expect.objectContaining({ field, message: expect.stringContaining(`${field} got ${kind}. Give `) }),
    )
  })

  test('OPS-07: a workflow twice is refused by the worker', () => {
    expect(() => worker({ workflows: [workflow, workflow] })).toThrow("two workflows named 'welcome'")
  })

  test('OPS-07: unknown options are refused with the close one suggested', () => {
    expect(() => worker({ concurency: 4 })).toThrow('unknown option concurency. Did you mean concurrency?')
    expect(() => parseClientOptions({ connectionstring: '' })).toThrow('Did you mean connectionString?')
    expect(() => parseClientOptions({ concurrency: 4 })).toThrow(ConfigError)
  })

  test('TRY-08: a grace that is no duration is a typed error', () => {
    for (const grace of [NaN, -1, '5x', 1e20]) {
      expect(() => worker({ grace })).toThrow(DurationError)
      expect(() => worker({ grace })).toThrow(expect.objectContaining({ field: 'grace' }))
    }
  })

  test('two connections are refused', () => {
    const both = { connectionString: 'postgres://localhost/app', pool }
    expect(() => parseClientOptions(both)).toThrow(ConfigError)
    expect(() => worker(both)).toThrow(expect.objectContaining({ field: 'connectionString' }))
  })

  test.each([
    ['connectionString', 'postgres://localhost/app'],
    ['pool', pool],
    ['schema', 'other'],
    ['migrate', 'off'],
  ])('a %s beside a client, which has its own, is refused', (field, value) => {
    expect(() => worker({ client, [field]: value })).toThrow(ConfigError)
    expect(() => worker({ client, [field]: value })).toThrow(expect.objectContaining({ field }))
    expect(worker({ client, [field]: undefined }).client).toBe(client)
  })

  test('a connection string is never repeated in a message', () => {
    const connectionString = 'postgres://me:secret@localhost/app\0'
    expect(() => parseClientOptions({ connectionString })).toThrow(ConfigError)
    expect(() => parseClientOptions({ connectionString })).not.toThrow('secret')
  })
})
