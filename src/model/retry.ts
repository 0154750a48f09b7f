import { parseDuration } from './duration.ts'
import { ConfigError } from './errors.ts'
import type { ErrorClass, RetryPolicy } from './policy.ts'

/** A retry policy with its defaults filled in and its durations in milliseconds. */
export interface ResolvedRetry {
  readonly initialMs: number
  readonly factor: number
  readonly maxMs: number
  /** 0 to 1: the share by which a wait is lengthened or shortened at random. */
  readonly jitter: number
  readonly nonRetryable: readonly ErrorClass[]
}

const knownKeys: Readonly<Record<keyof RetryPolicy, true>> = {
  initial: true,
  factor: true,
  max: true,
  jitter: true,
  nonRetryable: true,
}

const defaultMaxMs = 3_600_000

/** Checks a policy and fills in the defaults. `field` is where it was given, such as 'retry'. */
export function resolveRetry(policy: RetryPolicy | undefined, field: string): ResolvedRetry {
  const given: unknown = policy ?? {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refusal(field, 'must be an object.', `Give some of: ${Object.keys(knownKeys).join(', ')}.`)
  }
  refuseUnknownKeys(given, field)
  const { initial = '1s', factor = 2, max, jitter = 0.1, nonRetryable = [] }: RetryPolicy = given
  const initialMs = parseDuration(initial, `${field}.initial`)
  const maxMs = max === undefined ? Math.max(defaultMaxMs, initialMs) : parseDuration(max, `${field}.max`)
  if (maxMs < initialMs) {
    throw refusal(`${field}.max`, 'is shorter than the first wait.', `Raise it, or lower ${field}.initial.`)
  }
  if (typeof factor !== 'number' || !(factor >= 1 && factor < Infinity)) {
    throw refusal(`${field}.factor`, 'must be a finite number >= 1.', 'Give 1 for equal waits, 2 to double them.')
  }
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1)) {
    throw refusal(`${field}.jitter`, 'must be a number from 0 to 1.', 'Give 0.1 for ±10 %, 0 for exact waits.')
  }
  if (!Array.isArray(nonRetryable) || !nonRetryable.every((each) => typeof each === 'function')) {
    throw refusal(`${field}.nonRetryable`, 'must be an array of error classes.', 'Give [MyError], not an instance.')
  }
  return Object.freeze({ initialMs, factor, maxMs, jitter, nonRetryable: Object.freeze([...nonRetryable]) })
}

/**
 * Milliseconds to wait after the given attempt (1 is the first) before the next one: exponential, capped, then
 * jittered, so that many runs that failed together at the cap do not come back together.
 */
export function backoffMs(policy: ResolvedRetry, attempt: number, random: () => number): number {
  const { initialMs, factor, maxMs, jitter } = policy
  // 0 * Infinity is NaN: a wait of nothing stays nothing however often it is multiplied.
  const grown = initialMs === 0 ? 0 : initialMs * factor ** Math.max(attempt - 1, 0)
  const wait = Math.min(grown, maxMs)
  return jitter === 0 ? wait : wait * (1 + jitter * (2 * random() - 1))
}

function refuseUnknownKeys(given: object, field: string): void {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(knownKeys, key))
  if (unknown === undefined) return
  throw refusal(`${field}.${unknown}`, 'is not an option.', `Known are: ${Object.keys(knownKeys).join(', ')}.`)
}

function refusal(field: string, what: string, remedy: string): ConfigError {
  return new ConfigError(`${field} ${what}`, { field, remedy })
}
