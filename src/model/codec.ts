import { SuperJSON } from 'superjson'
import { UnserializableError } from './errors.ts'
import type { ErrorParts } from './leaf.ts'
import { fromErrorParts, fromLeaf, Leaf } from './leaf.ts'
import { deepestLevel, isPlainPrototype, tooLarge, toPortable } from './portable.ts'

/**
 * How values are stored: always as JSON text, so that SQL and other languages can read and write them, with an
 * annotation beside it where JSON alone would change the value. Plain JSON has none and takes the fast path.
 */

export interface Encoded {
  /** Valid JSON text, for a column of type json (jsonb refuses U+0000 and lone surrogates, and reorders keys). */
  readonly json: string
  /** What JSON cannot tell, or null for a plain JSON value. */
  readonly types: string | null
}

export interface EncodeOptions {
  readonly maxBytes?: number | undefined
}

/** 1 MiB of UTF-8, annotation included. */
export const defaultMaxBytes = 1_048_576

const superjson = new SuperJSON()

superjson.registerCustom<Leaf, [string, string]>(
  {
    isApplicable: (value): value is Leaf => value instanceof Leaf,
    serialize: ({ kind, text }) => [kind, text],
    deserialize: ([kind, text]) => fromLeaf(kind, text) as Leaf,
  },
  'leaf',
)
superjson.registerCustom<Error, never>(
  {
    isApplicable: (value): value is Error => value instanceof Error,
    serialize: (error) => Object.fromEntries(Object.entries(error)) as never,
    deserialize: (parts: ErrorParts) => fromErrorParts(parts),
  },
  'error',
)
// superjson refuses these keys; as pairs they are ordinary data, and fromEntries makes own properties of them.
const refusedKeys = ['__proto__', 'constructor', 'prototype']
superjson.registerCustom<object, never>(
  {
    isApplicable: (value): value is object =>
      typeof value === 'object' && value !== null && refusedKeys.some((key) => Object.hasOwn(value, key)),
    serialize: (value) => Object.entries(value) as never,
    deserialize: (pairs: [string, unknown][]) => Object.fromEntries(pairs),
  },
  'entries',
)

const nothing: Encoded = annotate(undefined)

/** Turns a value into its stored form. `field` names it in the errors: UnserializableError, PayloadTooLargeError. */
export function encode(value: unknown, field: string, options: EncodeOptions = {}): Encoded {
  if (value === undefined) return nothing
  const { maxBytes = defaultMaxBytes } = options
  const json = plainJson(value, maxBytes)
  const encoded = json === undefined ? annotate(toPortable(value, field, maxBytes)) : { json, types: null }
  const size = sizeOf(encoded, maxBytes)
  if (size > maxBytes) throw tooLarge(field, `${size} bytes`, maxBytes)
  return encoded
}

/** Gives back the value of a stored form, including one written by hand in SQL. */
export function decode(json: string, types: string | null): unknown {
  try {
    const plain: unknown = JSON.parse(json)
    if (types === null) return plain
    return superjson.deserialize({ json: plain as never, meta: JSON.parse(types) as never }, { inPlace: true })
  } catch (cause) {
    throw new UnserializableError('A stored value cannot be read back.', '$', {
      remedy: 'It was changed by hand, or written by a newer release.',
      cause,
    })
  }
}

function annotate(portable: unknown): Encoded {
  const { json, meta } = superjson.serialize(portable)
  // Values are trees (see portable.ts). superjson's own note of shared objects is not faithful for every graph, counts
  // equal bigints as shared, and costs the square of a Set's size to apply.
  delete meta?.referentialEqualities
  return { json: JSON.stringify(json), types: meta?.values === undefined ? null : JSON.stringify(meta) }
}

function plainJson(value: unknown, maxBytes: number): string | undefined {
  try {
    return measure(value, maxBytes, 0) < 0 ? undefined : JSON.stringify(value)
  } catch {
    // A getter, a proxy or the stack's end: the careful path says where.
    return undefined
  }
}

/**
 * `left` minus a lower bound of the value's size in JSON; negative if that is more than `left`, or if the value is
 * anything that JSON would drop or change.
 */
function measure(value: unknown, left: number, depth: number): number {
  switch (typeof value) {
    case 'string':
      return left - value.length
    case 'boolean':
      return left - 1
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? left - 1 : -1
    case 'object':
      if (value === null) return left - 1
      if (depth > deepestLevel || 'toJSON' in value) return -1
      return Array.isArray(value) ? measureList(value, left - 1, depth + 1) : measureRecord(value, left - 1, depth + 1)
    case 'undefined':
    case 'bigint':
    case 'symbol':
    case 'function':
      return -1
  }
}

function measureList(list: readonly unknown[], left: number, depth: number): number {
  let rest = left
  for (let at = 0; at < list.length && rest >= 0; at++) rest = measure(list[at], rest, depth)
  return rest
}

function measureRecord(record: object, left: number, depth: number): number {
  if (!isPlainPrototype(Object.getPrototypeOf(record))) return -1
  let rest = left
  for (const key in record) {
    rest = measure((record as Record<string, unknown>)[key], rest - key.length, depth)
    if (rest < 0) return -1
  }
  return rest
}

function sizeOf({ json, types }: Encoded, maxBytes: number): number {
  const units = json.length + (types?.length ?? 0)
  // Three bytes of UTF-8 are the most a UTF-16 unit takes: a short text need not be counted.
  if (units * 3 <= maxBytes) return units
  return Buffer.byteLength(json) + (types === null ? 0 : Buffer.byteLength(types))
}
