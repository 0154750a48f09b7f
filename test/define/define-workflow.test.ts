import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, isWorkflow } from '../../src/define/define-workflow.ts'
import { ConfigError, DurationError } from '../../src/model/errors.ts'
import type { HoldfastError } from '../../src/model/errors.ts'
import { resolveRetry } from '../../src/model/retry.ts'

const handler = (): number => 1
// Definitions as JavaScript may write them, which the types would refuse.
const define = defineWorkflow as (options: unknown) => ReturnType<typeof defineWorkflow>
const withOptions = (options: object): ReturnType<typeof defineWorkflow> => define({ name: 'x', handler, ...options })

function refusal(fn: () => unknown): HoldfastError {
  try {
    fn()
  } catch (error) {
    return error as HoldfastError
  }
  throw new Error('was not refused')
}

describe('defaults', () => {
  test('a definition needs only a name and a handler', () => {
    const { name, definition } = defineWorkflow({ name: 'welcome', handler })
    expect(name).toBe('welcome')
    expect(definition).toEqual({
      name: 'welcome',
      input: undefined,
      output: undefined,
      handler,
      retry: resolveRetry(undefined, 'retry'),
      maxAttempts: 10,
      timeoutMs: 15 * 60_000,
      deadlineMs: undefined,
      leaseMs: 30_000,
      maxLeaseMs: 15 * 60_000,
      priority: 0,
      keepMs: 7 * 86_400_000,
      keepDoneMs: 86_400_000,
      dedupeMs: 86_400_000,
      maxWaiting: undefined,
      maxSteps: 10_000,
      onMismatch: 'warn',
      errors: [],
      group: undefined,
      limits: {
        concurrency: undefined,
        concurrencyPerGroup: undefined,
        rate: undefined,
        ratePerGroup: undefined,
        isFair: false,
      },
      fingerprint: definition.fingerprint,
    })
  })

  test('undefined counts as left out', () => {
    expect(withOptions({ lease: undefined, group: undefined, retry: undefined }).definition).toEqual(
      withOptions({}).definition,
    )
  })

  test('an attempt limit above the ceiling is lowered to it', () => {
    expect(withOptions({ maxAttempts: 100 }).definition.maxAttempts).toBe(100)
    expect(withOptions({ maxAttempts: 101 }).definition.maxAttempts).toBe(100)
  })

  test('a key that stays taken longer than its run would be kept keeps the run', () => {
    const { keepMs, keepDoneMs, dedupeMs } = withOptions({ keep: '1h', keepDone: '1m', dedupe: '2d' }).definition
    expect({ keepMs, keepDoneMs, dedupeMs }).toEqual({
      keepMs: 172_800_000,
      keepDoneMs: 172_800_000,
      dedupeMs: 172_800_000,
    })
    expect(withOptions({ keepDone: '3d', dedupe: '2d' }).definition.keepDoneMs).toBe(3 * 86_400_000)
  })
})

describe('limits', () => {
  const group = (): string => 'g'

  test('a bare number is the limit of the whole workflow', () => {
    expect(withOptions({ concurrency: 5 }).definition.limits).toEqual(
      withOptions({ concurrency: { limit: 5 } }).definition.limits,
    )
    expect(withOptions({ concurrency: 5 }).definition.limits.concurrency).toBe(5)
  })

  test('workflow and group limits are told apart', () => {
    const rate = { limit: 10, per: '1s', perGroup: { limit: 2, per: '1m' } }
    expect(withOptions({ group, concurrency: { limit: 5, perGroup: 1 }, rate, fair: true }).definition.limits).toEqual({
      concurrency: 5,
      concurrencyPerGroup: 1,
      rate: { limit: 10, perMs: 1_000 },
      ratePerGroup: { limit: 2, perMs: 60_000 },
      isFair: true,
    })
    expect(withOptions({ group, rate: { perGroup: rate.perGroup } }).definition.limits).toMatchObject({
      rate: undefined,
      ratePerGroup: { limit: 2, perMs: 60_000 },
    })
  })

  test.each([
    ['concurrency.perGroup', { concurrency: { perGroup: 1 } }],
    ['rate.perGroup', { rate: { perGroup: { limit: 1, per: '1s' } } }],
    ['fair', { fair: true }],
  ])('OPS-07: %s without a group is refused', (field, options) => {
    const error = refusal(() => withOptions(options))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.field).toBe(field)
    expect(error.message).toContain('Give group')
    expect(isWorkflow(withOptions({ ...options, group }))).toBe(true)
  })
})

describe('refusals', () => {
  test.each([
    ['name', '', 'an empty string'],
    ['name', undefined, 'undefined'],
    ['name', 7, '7'],
    ['name', 'a#b', 'a string'],
    ['name', 'a[0]', 'a string'],
    ['name', ' a', 'a string'],
    ['name', 'a ', 'a string'],
    ['name', '-a', 'a string'],
    ['name', 'a\nb', 'a string'],
    ['name', 'a\0', 'a string'],
    ['name', 'a\ud800', 'a string'],
    ['name', 'x'.repeat(129), 'a string'],
    ['handler', undefined, 'undefined'],
    ['handler', 'go', 'a string'],
    ['handler', Promise.resolve(), 'a promise'],
    ['input', { email: 'string' }, 'an object'],
    ['input', null, 'null'],
    ['output', { '~standard': {} }, 'an object'],
    ['maxAttempts', 0, '0'],
    ['maxAttempts', 1.5, '1.5'],
    ['maxAttempts', NaN, 'NaN'],
    ['maxAttempts', Infinity, 'Infinity'],
    ['maxAttempts', '3', 'a string'],
    ['timeout', 0, '0'],
    ['deadline', 0, '0'],
    ['lease', 99, '99'],
    ['priority', 'high', 'a string'],
    ['priority', 32_768, '32768'],
    ['priority', -32_769, '-32769'],
    ['priority', 0.5, '0.5'],
    ['priority', 1n, 'a bigint'],
    ['maxWaiting', 0, '0'],
    ['maxSteps', 0, '0'],
    ['maxSteps', 2 ** 31, '2147483648'],
    ['errors', RangeError, 'a function'],
    ['errors', [RangeError, 'TypeError'], 'an array'],
    ['errors', [new RangeError()], 'an array'],
    ['errors', [Date], 'an array'],
    ['group', 'tenant', 'a string'],
    ['concurrency', '5', 'a string'],
    ['concurrency', {}, 'an object'],
    ['concurrency', null, 'null'],
    ['rate', 5, '5'],
    ['rate', {}, 'an object'],
    ['rate', { limit: 5 }, 'an object'],
    ['rate', { per: '1s' }, 'an object'],
    ['fair', 'yes', 'a string'],
  ])('OPS-07: %s: %o is refused by name, kind and remedy', (field, value, kind) => {
    const error = refusal(() => withOptions({ [field]: value }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.field).toBe(field)
    expect(error.message).toContain(`${field} got ${kind}. Give `)
  })

  test.each([
    ['concurrency.limit', { concurrency: 0 }, '0'],
    ['concurrency.limit', { concurrency: { limit: 0 } }, '0'],
    ['concurrency.perGroup', { concurrency: { perGroup: 2.5 }, group: () => 'g' }, '2.5'],
    ['rate.limit', { rate: { limit: 0, per: '1s' } }, '0'],
    ['rate.per', { rate: { limit: 1, per: 0 } }, '0'],
    ['rate.perGroup', { rate: { perGroup: 3 } }, '3'],
    ['rate.perGroup', { rate: { perGroup: { per: '1s' } } }, 'an object'],
    ['rate.perGroup', { rate: { perGroup: { limit: 1 } } }, 'an object'],
    ['rate.perGroup.per', { rate: { perGroup: { limit: 1, per: 0 } } }, '0'],
  ])('OPS-07: a wrong %s is refused with its whole path', (field, options, kind) => {
    const error = refusal(() => withOptions(options))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.field).toBe(field)
    expect(error.message).toContain(`workflow 'x': ${field} got ${kind}. Give `)
  })

  test('OPS-07: an unknown option is refused with the known ones named and the close one suggested', () => {
    const error = refusal(() => withOptions({ maxAtempts: 3 }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.field).toBe('maxAtempts')
    expect(error.message).toContain(
      "workflow 'x': unknown option maxAtempts. Did you mean maxAttempts? Known are: name, ",
    )
    expect(error.message).toContain('fair, ')
  })

  test('OPS-07: an unknown option that resembles none gets no suggestion', () => {
    expect(refusal(() => withOptions({ cron: '* * * * *' })).message).not.toContain('Did you mean')
  })

  test('OPS-07: an unknown option is refused even where it is undefined', () => {
    expect(refusal(() => withOptions({ leese: undefined })).message).toContain('Did you mean lease?')
  })

  test.each([
    ['concurrency.perTenant', { concurrency: { perTenant: 1 } }, 'Known are: limit, perGroup.'],
    ['rate.lim', { rate: { lim: 1, per: '1s' } }, 'Known are: limit, per, perGroup.'],
    ['rate.perGroup.every', { rate: { perGroup: { limit: 1, every: '1s' } } }, 'Known are: limit, per.'],
  ])('OPS-07: an unknown %s is refused with the known ones named', (field, options, known) => {
    const error = refusal(() => withOptions(options))
    expect(error.field).toBe(field)
    expect(error.message).toContain(known)
  })

  test('OPS-07: a wrong or unknown part of retry is refused by its path', () => {
    expect(refusal(() => withOptions({ retry: { factor: 0 } })).field).toBe('retry.factor')
    expect(refusal(() => withOptions({ retry: { tries: 3 } })).field).toBe('retry.tries')
  })

  test.each([undefined, null, 'welcome', handler, []])('OPS-07: %o instead of options is refused', (given) => {
    const error = refusal(() => define(given))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.field).toBe('options')
  })

  test('OPS-07: a lease longer than the longest lease is refused, the default ones included', () => {
    expect(refusal(() => withOptions({ lease: '20m' })).field).toBe('lease')
    expect(refusal(() => withOptions({ maxLease: '10s' })).field).toBe('lease')
    expect(withOptions({ lease: '15m' }).definition.leaseMs).toBe(900_000)
  })

  const durations = ['timeout', 'deadline', 'lease', 'maxLease', 'keep', 'keepDone', 'dedupe']
  test.each(durations)('TRY-08: a %s that is no duration is a typed error that names it', (field) => {
    for (const bad of [NaN, -1, '5x', 1e20, '', null, Infinity, new Date()]) {
      const error = refusal(() => withOptions({ [field]: bad }))
      expect(error).toBeInstanceOf(DurationError)
      expect(error.field).toBe(field)
    }
  })

  test.each([
    ['rate.per', { rate: { limit: 1, per: '5x' } }],
    ['rate.perGroup.per', { group: () => 'g', rate: { perGroup: { limit: 1, per: -1 } } }],
    ['retry.initial', { retry: { initial: NaN } }],
    ['retry.max', { retry: { max: 1e20 } }],
  ])('TRY-08: a %s that is no duration is a typed error that names its path', (field, options) => {
    const error = refusal(() => withOptions(options))
    expect(error).toBeInstanceOf(DurationError)
    expect(error.field).toBe(field)
  })

  test('TRY-08: durations read as text, sums of units and numbers of ms', () => {
    const { timeoutMs, deadlineMs, leaseMs } = withOptions({
      timeout: '10m',
      deadline: '1h30m',
      lease: 1500,
    }).definition
    expect({ timeoutMs, deadlineMs, leaseMs }).toEqual({ timeoutMs: 600_000, deadlineMs: 5_400_000, leaseMs: 1500 })
  })
})

test.each(['welcome', 'Größe', 'नमस्ते', '送信', 'billing/invoice:send-2.v1_x', '7', 'two words', '𝒳'.repeat(128)])(
  'a workflow may be named %s',
  (name) => {
    expect(define({ name, handler }).name).toBe(name)
  },
)

test('a definition cannot be changed after it was made', () => {
  const errors: ErrorConstructor[] = [RangeError]
  const workflow = withOptions({ errors, retry: { nonRetryable: errors } })
  errors.push(TypeError)
  expect(workflow.definition.errors).toEqual([RangeError])
  expect(workflow.definition.retry.nonRetryable).toEqual([RangeError])
  const parts = [workflow, workflow.definition, workflow.definition.limits, workflow.definition.retry]
  expect(parts.map((part) => Object.isFrozen(part))).toEqual([true, true, true, true])
})

describe('fingerprint', () => {
  const fingerprint = (options: object): string => withOptions(options).definition.fingerprint

  test('is sixteen hexadecimal digits', () => {
    expect(fingerprint({})).toMatch(/^[0-9a-f]{16}$/)
  })

  test('does not depend on how an option is written, nor on code or schemas', () => {
    const same = [
      { lease: '30s' },
      { lease: 30_000 },
      { retry: { max: '60m' } },
      { keepDone: '1h' }, // raised to dedupe
      { handler: () => 2 },
      { input: z.string(), output: z.number() },
      { errors: [RangeError], retry: { nonRetryable: [TypeError] } },
    ]
    expect(new Set(same.map(fingerprint))).toEqual(new Set([fingerprint({})]))
  })

  test('does not depend on which function groups', () => {
    expect(fingerprint({ group: () => 'a' })).toBe(fingerprint({ group: () => 'b' }))
  })

  test('changes with each thing that the database must know', () => {
    const group = (): string => 'g'
    const different = [
      {},
      { name: 'y' },
      { retry: { initial: '2s' } },
      { retry: { factor: 3 } },
      { retry: { max: '2h' } },
      { retry: { jitter: 0 } },
      { maxAttempts: 9 },
      { timeout: '1m' },
      { deadline: '1m' },
      { lease: '29s' },
      { maxLease: '1h' },
      { priority: 1 },
      { keep: '8d' },
      { keepDone: '2d' },
      { dedupe: '1h' },
      { maxWaiting: 10 },
      { maxSteps: 10 },
      { group },
      { group, fair: true },
      { group, concurrency: { perGroup: 5 } },
      { concurrency: 5 },
      { rate: { limit: 5, per: '1s' } },
      { rate: { limit: 5, per: '2s' } },
      { group, rate: { perGroup: { limit: 5, per: '1s' } } },
    ]
    expect(new Set(different.map(fingerprint)).size).toBe(different.length)
  })
})
