import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ConfigError, DurationError } from '../../src/model/errors.ts'
import { backoffMs, resolveRetry } from '../../src/model/retry.ts'

const day = 86_400_000
const middle = (): number => 0.5

const policies = fc
  .record({
    initial: fc.oneof(fc.constant(0), fc.double({ min: 0, max: day, noNaN: true })),
    factor: fc.oneof(fc.constant(1), fc.double({ min: 1, max: 1e6, noNaN: true })),
    span: fc.double({ min: 0, max: 30 * day, noNaN: true }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ span, ...policy }) => ({ ...policy, max: policy.initial + span }))

const attempts = fc.oneof(fc.integer({ min: 0, max: 64 }), fc.integer({ min: 0, max: 1_000_000 }))
const draws = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })

test('TRY-03: by default a failed run waits 1, 2, 4 … s and at most one hour', () => {
  const policy = resolveRetry(undefined, 'retry')
  const waits = [1, 2, 3, 4, 12, 13, 100].map((attempt) => backoffMs(policy, attempt, middle))
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 2_048_000, 3_600_000, 3_600_000])
})

test('TRY-03: a wait is spread by ±10 %, also at the cap', () => {
  const policy = resolveRetry({}, 'retry')
  expect(backoffMs(policy, 1, () => 0)).toBeCloseTo(900)
  expect(backoffMs(policy, 1, () => 1)).toBeCloseTo(1_100)
  expect(backoffMs(policy, 50, () => 0)).toBeCloseTo(3_240_000)
  expect(backoffMs(policy, 50, () => 1)).toBeCloseTo(3_960_000)
})

test('TRY-03: for any policy and attempt number a wait is finite and within its jitter of the cap', () => {
  fc.assert(
    fc.property(policies, attempts, draws, (given, attempt, draw) => {
      const wait = backoffMs(resolveRetry(given, 'retry'), attempt, () => draw)
      expect(Number.isFinite(wait)).toBe(true)
      expect(wait).toBeGreaterThanOrEqual(0)
      expect(wait).toBeLessThanOrEqual(given.max * (1 + given.jitter) * (1 + Number.EPSILON * 4))
    }),
    { numRuns: 1_000 },
  )
})

test('TRY-03: without jitter a later wait is never shorter', () => {
  fc.assert(
    fc.property(policies, attempts, attempts, (given, one, other) => {
      const policy = resolveRetry({ ...given, jitter: 0 }, 'retry')
      const [early, late] = one < other ? [one, other] : [other, one]
      expect(backoffMs(policy, early, middle)).toBeLessThanOrEqual(backoffMs(policy, late, middle))
    }),
    { numRuns: 1_000 },
  )
})

test('the default cap rises with a longer first wait', () => {
  expect(resolveRetry({ initial: '2h' }, 'retry')).toMatchObject({ initialMs: 7_200_000, maxMs: 7_200_000 })
})

const badPolicies: [string, string, unknown][] = [
  ['a factor below 1', 'retry.factor', { factor: 0.5 }],
  ['a factor that is NaN', 'retry.factor', { factor: NaN }],
  ['an endless factor', 'retry.factor', { factor: Infinity }],
  ['a factor as text', 'retry.factor', { factor: '2' }],
  ['a jitter above 1', 'retry.jitter', { jitter: 1.5 }],
  ['a negative jitter', 'retry.jitter', { jitter: -0.1 }],
  ['a cap below the first wait', 'retry.max', { initial: '10s', max: '1s' }],
  ['an instance among the classes', 'retry.nonRetryable', { nonRetryable: [new Error('x')] }],
  ['classes that are no array', 'retry.nonRetryable', { nonRetryable: TypeError }],
  ['an unknown option', 'retry.attempts', { attempts: 3 }],
  ['a number', 'retry', 3],
  ['an array', 'retry', []],
]

test.each(badPolicies)('%s is a ConfigError for %s', (_, field, given) => {
  const resolve = (): unknown => resolveRetry(given as never, 'retry')
  expect(resolve).toThrow(ConfigError)
  expect(resolve).toThrow(expect.objectContaining({ field }))
})

test('an unknown option is refused with the known ones named', () => {
  expect(() => resolveRetry({ backoff: 2 } as never, 'retry')).toThrow('initial, factor, max, jitter, nonRetryable')
})

test('a bad duration in a policy names its own option', () => {
  const resolve = (): unknown => resolveRetry({ max: '5x' }, 'retry')
  expect(resolve).toThrow(DurationError)
  expect(resolve).toThrow(expect.objectContaining({ field: 'retry.max' }))
})
