import type { z } from 'zod'
import type { ArgumentError, ConfigError } from '../model/errors.ts'
import { describeValue } from './describe-value.ts'
import { didYouMean } from './did-you-mean.ts'
import type { OptionTable } from './option.ts'

type Refusal = typeof ConfigError | typeof ArgumentError

/** Reads options given by a user: refuses unknown and wrong ones by name, fills in defaults. `subject` opens each message. */
export type OptionReader<Resolved> = (given: unknown, subject: string) => Resolved

export function createOptionReader<Given, Resolved extends Record<keyof Given, unknown>>(
  table: OptionTable<Given, Resolved>,
  refusal: Refusal,
): OptionReader<Resolved> {
  const known = Object.keys(table) as (keyof Given & string)[]
  const checks = new Map<string, z.ZodType>(known.map((name) => [name, table[name].check(name)]))
  // read once, since a start reads nine options and seldom gives more than two
  const defaults: Record<string, unknown> = Object.fromEntries(
    known.map((name) => [name, readDefault(table[name].default, checks.get(name)!)]),
  )

  const readOne = (name: keyof Given & string, given: Record<string, unknown>, subject: string): unknown => {
    const value = given[name]
    if (value === undefined && !table[name].isRequired) return defaults[name]
    const result = checks.get(name)!.safeParse(value, { reportInput: true })
    if (result.success) return result.data
    throw refuse(refusal, subject, name, result.error.issues[0]!)
  }

  return (given, subject) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw new refusal(`${subject}: options got ${describeValue(given)}.`, {
        field: 'options',
        remedy: 'Give an object.',
      })
    }
    const unknownName = Object.keys(given).find((name) => !checks.has(name))
    if (unknownName !== undefined) {
      throw new refusal(`${subject}: unknown option ${unknownName}.`, {
        field: unknownName,
        remedy: didYouMean(unknownName, known),
      })
    }
    const resolved: Partial<Record<keyof Given, unknown>> = {}
    for (const name of known) resolved[name] = readOne(name, given as Record<string, unknown>, subject)
    return resolved as Resolved
  }
}

function readDefault(value: unknown, check: z.ZodType): unknown {
  return value === undefined ? undefined : check.parse(value)
}

function refuse(refusal: Refusal, subject: string, name: string, issue: z.core.$ZodIssue): Error {
  const field = [name, ...issue.path.map(String)].join('.')
  if (issue.code === 'unrecognized_keys') {
    const unknownName = `${field}.${issue.keys[0]}`
    return new refusal(`${subject}: unknown option ${unknownName}.`, { field: unknownName, remedy: issue.message })
  }
  return new refusal(`${subject}: ${field} got ${describeValue(issue.input)}.`, {
    field,
    remedy: `Give ${issue.message}.`,
  })
}
