import { types } from 'node:util'
import { z } from 'zod'
import { parseDuration } from '../model/duration.ts'
import type { Queryable } from '../model/run.ts'
import { unstorable } from '../model/storable.ts'
import { didYouMean } from './did-you-mean.ts'

/** The checks that several options share. Each message completes the sentence "Give …". */

type Check<R> = (field: string) => z.ZodType<R>

/** The largest number an `integer` column holds. */
const largestInteger: number = 2 ** 31 - 1

export function custom<R>(isRight: (value: unknown) => boolean, expected: string): Check<R> {
  return () => z.custom<R>(isRight, expected)
}

export function whole(min: number, max: number = largestInteger): Check<number> {
  const range = max === largestInteger ? `of at least ${min}` : `from ${min} to ${max}`
  return custom(
    (value) => Number.isInteger(value) && min <= Number(value) && Number(value) <= max,
    `a whole number ${range}`,
  )
}

/** Larger numbers count as `ceiling`. */
export function wholeUpTo(ceiling: number): Check<number> {
  return () =>
    z
      .custom<number>((value) => Number.isInteger(value) && Number(value) >= 1, `a whole number from 1 to ${ceiling}`)
      .transform((value) => Math.min(value, ceiling))
}

/** In milliseconds. What is no duration at all is a DurationError. */
export function duration(atLeastMs = 0): Check<number> {
  return (field) =>
    z
      .unknown()
      .transform((value) => parseDuration(value, field))
      .refine((ms) => ms >= atLeastMs, `a duration of at least ${atLeastMs} ms`)
}

export function flag(): Check<boolean> {
  return () => z.boolean('true or false')
}

export function oneOf<const V extends string>(values: readonly V[]): Check<V> {
  return custom((value) => values.some((each) => each === value), `one of ${values.join(', ')}`)
}

/** An object with a method of each of those names. */
export function having<R>(methods: readonly string[], expected: string): Check<R> {
  return custom(
    (value) =>
      value !== null &&
      typeof value === 'object' &&
      methods.every((name) => typeof Reflect.get(value, name) === 'function'),
    expected,
  )
}

export function queryable(): Check<Queryable> {
  return having(['query'], "a transaction: a pg client inside one, or what an adapter makes of another library's")
}

export function date(): Check<Date> {
  return custom(
    (value) => types.isDate(value) && value.getTime() >= earliest && value.getTime() <= latest,
    'a valid Date between the years 1 and 9999',
  )
}

const earliest = Date.parse('0001-01-01T00:00:00Z')
const latest = Date.parse('9999-12-31T23:59:59.999Z')

/** An object with those keys and no others. */
export function shape<T extends z.core.$ZodShape>(fields: T, expected: string): z.ZodObject<T, z.core.$strict> {
  return z.strictObject(fields, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? didYouMean((issue as unknown as { keys: string[] }).keys[0]!, Object.keys(fields))
        : expected,
  })
}

/** Storable, not empty, and of at most `longest` characters as Postgres counts them. */
export function isShortText(value: unknown, longest: number): value is string {
  return typeof value === 'string' && value !== '' && unstorable(value) === undefined && hasAtMost(value, longest)
}

export function hasAtMost(text: string, longest: number): boolean {
  return text.length <= longest || (text.length <= 2 * longest && [...text].length <= longest)
}
