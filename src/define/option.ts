import type { z } from 'zod'

/**
 * How an option is declared. Each is declared once, in a table; what reads options, the README's tables, the command
 * line's help and the comments on the public types follow that table.
 */
export type Option<R> = Declaration<R> & (undefined extends R ? unknown : { default: unknown } | { isRequired: true })

interface Declaration<R> {
  /** The type, as the docs write it. */
  readonly type: string
  /** What a bare number counts. */
  readonly unit?: string
  /** As a user would write it; it goes through `check` like any other value. */
  readonly default?: unknown
  /** The docs' words for the default where it is no value of the option. Without both: `none`. */
  readonly defaultNote?: string
  readonly isRequired?: true
  /** Made once per option; `field` is its name. An issue's message completes the sentence "Give …". */
  readonly check: (field: string) => z.ZodType<R>
  /** One sentence or two, without the default. */
  readonly doc: string
}

/** One declaration for each option of `Given`; `Resolved` has the same keys and what reading them yields. */
export type OptionTable<Given, Resolved extends Record<keyof Given, unknown>> = {
  readonly [K in keyof Required<Given>]: Option<Resolved[K]>
}

/** A table seen from outside, whatever it declares. */
export type AnyOptionTable = Readonly<Record<string, Declaration<unknown>>>

/** The default as the docs show it. */
export function defaultText(option: Declaration<unknown>): string {
  if (option.isRequired) return 'required'
  if (option.defaultNote !== undefined) return option.defaultNote
  if (option.default === undefined) return 'none'
  return typeof option.default === 'string' ? option.default : literal(option.default)
}

/** A value as TypeScript in the house style would write it. */
function literal(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const entries = Object.entries(value).map(([key, inner]) => `${key}: ${literal(inner)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}
