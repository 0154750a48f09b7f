import { z } from 'zod'
import type { ErrorClass } from '../model/policy.ts'
import type { Schema } from '../model/schema.ts'
import { hasAtMost } from './checks.ts'

const longestName = 128

// '#' and brackets belong to step keys; control characters and other signs would have to be escaped wherever a name is shown.
const namePattern = /^[\p{L}\p{N}][\p{L}\p{N}\p{M} ._:/-]*(?<! )$/u

export function workflowName(): z.ZodType<string> {
  return z.custom<string>(
    (value) => typeof value === 'string' && hasAtMost(value, longestName) && namePattern.test(value),
    `a name of at most ${longestName} letters, digits, spaces and . _ : / -, beginning with a letter or digit and not ending with a space`,
  )
}

export function schema(): z.ZodType<Schema> {
  return z.custom<Schema>(isSchema, 'a schema that speaks Standard Schema, such as one of zod, valibot or arktype')
}

// arktype's schemas are functions
function isSchema(value: unknown): boolean {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  const standard: unknown = Reflect.get(value, '~standard')
  return typeof standard === 'object' && standard !== null && typeof Reflect.get(standard, 'validate') === 'function'
}

export function errorClasses(): z.ZodType<readonly ErrorClass[]> {
  return z.custom<readonly ErrorClass[]>(
    (value) => Array.isArray(value) && value.every(isErrorClass),
    'an array of Error classes, not of their names or instances',
  )
}

function isErrorClass(value: unknown): boolean {
  return typeof value === 'function' && (value === Error || value.prototype instanceof Error)
}
