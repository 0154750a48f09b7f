import { z } from 'zod'
import type { ResolvedRate } from '../model/workflow.ts'
import { duration, shape, whole } from './checks.ts'

export interface GivenConcurrency {
  readonly limit: number | undefined
  readonly perGroup: number | undefined
}

export interface GivenRate {
  readonly limit: ResolvedRate | undefined
  readonly perGroup: ResolvedRate | undefined
}

export function concurrency(field: string): z.ZodType<GivenConcurrency> {
  const count = whole(1)(field).optional()
  return z
    .preprocess(
      (value) => (typeof value === 'number' ? { limit: value } : value),
      shape({ limit: count, perGroup: count }, 'a whole number of at least 1, or { limit, perGroup }'),
    )
    .refine(({ limit, perGroup }) => limit !== undefined || perGroup !== undefined, 'limit, perGroup or both')
    .transform(({ limit, perGroup }) => ({ limit, perGroup }))
}

export function rate(field: string): z.ZodType<GivenRate> {
  const limit = whole(1)(field).optional()
  const perOf = (path: string) => duration(1)(`${path}.per`).optional()
  const perGroup = shape({ limit, per: perOf(`${field}.perGroup`) }, '{ limit, per }')
    .refine((given) => given.limit !== undefined && given.per !== undefined, 'both limit and per')
    .optional()
  return shape({ limit, per: perOf(field), perGroup }, '{ limit, per }, { perGroup: { limit, per } } or both')
    .refine((given) => (given.limit === undefined) === (given.per === undefined), 'both limit and per')
    .refine((given) => given.limit !== undefined || given.perGroup !== undefined, '{ limit, per }, perGroup or both')
    .transform((given) => ({
      limit: resolved(given.limit, given.per),
      perGroup: resolved(given.perGroup?.limit, given.perGroup?.per),
    }))
}

function resolved(limit: number | undefined, perMs: number | undefined): ResolvedRate | undefined {
  return limit === undefined || perMs === undefined ? undefined : Object.freeze({ limit, perMs })
}
