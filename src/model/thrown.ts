import { inspect, types } from 'node:util'
import type { ErrorClass } from './policy.ts'
import { isPlainPrototype } from './portable.ts'
import { storableText } from './storable.ts'

/** Looking at something thrown, which may be anything and may fight back: none of these throw. */

/** Plain JSON, small enough to be kept beside an error. */
export type Piece = string | number | boolean | null | readonly Piece[] | { readonly [key: string]: Piece }

/** A property, or undefined if it has none or reading it throws. */
export function read(value: unknown, key: PropertyKey): unknown {
  try {
    return value === undefined || value === null ? undefined : (value as Record<PropertyKey, unknown>)[key]
  } catch {
    return undefined
  }
}

export function ownKeys(value: unknown): string[] {
  try {
    const hasFields = typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
    return hasFields ? Object.keys(value) : []
  } catch {
    return []
  }
}

/** Also true for an Error of another realm, which `instanceof` does not know. */
export function isError(value: unknown): boolean {
  try {
    return types.isNativeError(value) || value instanceof Error
  } catch {
    return false
  }
}

/** Whether it stands for several errors, as an AggregateError does; a list of issues that are no Errors is a field. */
export function isGathering(thrown: unknown): boolean {
  if (!isError(thrown) || !isArray(read(thrown, 'errors'))) return false
  const errors = gathered(thrown)
  return errors.length > 0 ? errors.every(isError) : isInstance(thrown, AggregateError)
}

/** The first members of its `errors`. */
export function gathered(thrown: unknown): unknown[] {
  const errors = read(thrown, 'errors')
  return isArray(errors)
    ? Array.from({ length: Math.min(Number(read(errors, 'length')), 20) }, (_, at) => read(errors, at))
    : []
}

function isArray(value: unknown): boolean {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

export function isInstance(value: unknown, Class: ErrorClass): boolean {
  try {
    return value instanceof Class
  } catch {
    return false
  }
}

const longestInspected = 4_096

/** What it is, for a person: the text itself, or what a console would print, without running its getters. */
export function readable(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return inspect(value, {
      depth: 3,
      customInspect: false,
      maxArrayLength: 20,
      maxStringLength: longestInspected,
      breakLength: Infinity,
    })
  } catch {
    return `${typeof value === 'object' ? 'an object' : `a ${typeof value}`} that cannot be read`
  }
}

/** A copy as plain JSON with every text storable; undefined if it is anything else, or takes more than `maxBytes`. */
export function plainPiece(value: unknown, maxBytes: number): Piece | undefined {
  if (typeof value === 'string') return storableText(value, maxBytes)
  const budget = { left: maxBytes }
  try {
    return copy(value, budget)
  } catch {
    return undefined
  }
}

function copy(value: unknown, budget: { left: number }): Piece | undefined {
  if (typeof value !== 'string') budget.left -= 4
  if (budget.left < 0) return undefined
  switch (typeof value) {
    case 'string':
      return copyText(value, budget)
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value + 0 : undefined
    case 'object':
      return value === null ? null : copyNested(value, budget)
    case 'undefined':
    case 'bigint':
    case 'symbol':
    case 'function':
      return undefined
  }
}

// Counted as it will be stored, so that a second storing finds it no larger.
function copyText(value: string, budget: { left: number }): string | undefined {
  if (value.length > budget.left) return undefined
  const text = storableText(value)
  budget.left -= Buffer.byteLength(text) + 2
  return budget.left < 0 ? undefined : text
}

function copyNested(value: object, budget: { left: number }): Piece | undefined {
  if (Array.isArray(value)) {
    const items: Piece[] = []
    for (const each of value as unknown[]) {
      const item = copy(each, budget)
      if (item === undefined) return undefined
      items.push(item)
    }
    return items
  }
  if (!isPlainPrototype(Object.getPrototypeOf(value))) return undefined
  const record: Record<string, Piece> = {}
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key]
    // As in JSON, an undefined property is none.
    if (member === undefined) continue
    const name = key === '__proto__' ? undefined : copyText(key, budget)
    const item = copy(member, budget)
    if (name === undefined || item === undefined) return undefined
    record[name] = item
  }
  return record
}
