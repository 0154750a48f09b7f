import * as catalogue from './errors.ts'
import type { ErrorClass } from './policy.ts'
import { storableText } from './storable.ts'
import type { Piece } from './thrown.ts'
import { gathered, isError, isGathering, isInstance, ownKeys, plainPiece, read, readable } from './thrown.ts'

/**
 * Errors as they are stored and given back. A handler sees a step's error in this form from the first run on, so that
 * a replay takes the same branch: storing a revived error gives the same stored error again. Nothing here throws,
 * whatever was thrown.
 */

export interface StoredError {
  readonly name: string
  /** The name of its class where `name` says something else. */
  readonly class?: string
  readonly message: string
  readonly stack?: string
  readonly code?: string | number
  readonly cause?: StoredError
  readonly errors?: readonly StoredError[]
  /** Own enumerable properties that are small plain JSON. */
  readonly fields?: Readonly<Record<string, Piece>>
  readonly retryable?: false
  /** False if something other than an Error was thrown. */
  readonly isError: boolean
  /** What was thrown instead of an Error, as readable text. */
  readonly value?: string
}

export interface StoreErrorOptions {
  /** Classes after which there is no further try. */
  readonly nonRetryable?: readonly ErrorClass[] | undefined
}

interface Bounds {
  readonly message: number
  readonly stack: number
  readonly causes: number
  readonly fields: number
  readonly fieldBytes: number
  /** Errors in all: the error itself, its causes and theirs. */
  readonly errors: number
}

const largestStored = 32 * 1024

// Tried in turn until the whole fits. What fits the last ones also fits the first, so storing again changes nothing.
const boundsInTurn: readonly Bounds[] = [
  { message: 8192, stack: 4096, causes: 5, fields: 20, fieldBytes: 2048, errors: 30 },
  { message: 8192, stack: 4096, causes: 5, fields: 20, fieldBytes: 256, errors: 6 },
  { message: 2048, stack: 1024, causes: 5, fields: 0, fieldBytes: 0, errors: 6 },
  { message: 2048, stack: 1024, causes: 0, fields: 0, fieldBytes: 0, errors: 1 },
]

const shortText = 256
const nonErrorName = 'NonError'

// Told apart by identity: what the revived error's class is, and whether it stands for something else, is no property
// that user code should meet.
const origins = new WeakMap<Error, StoredError>()

const knownClasses: readonly ErrorClass[] = [
  ...Object.values(catalogue).filter((each): each is typeof catalogue.ConfigError => typeof each === 'function'),
  AggregateError,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
]

/** The stored form of anything thrown, below 32 KiB as JSON, with every text storable in Postgres. */
export function storeError(thrown: unknown, options: StoreErrorOptions = {}): StoredError {
  const isFinal = isNonRetryable(thrown, options.nonRetryable ?? [])
  let stored: StoredError | undefined
  for (const bounds of boundsInTurn) {
    const whole = new Keeper(bounds).keep(thrown, 0)
    stored = isFinal ? { ...whole, retryable: false } : whole
    if (Buffer.byteLength(JSON.stringify(stored)) < largestStored) break
  }
  return stored as StoredError
}

/** Whether it, one of its causes or one of the errors it gathers says that trying again is of no use. */
export function isNonRetryable(thrown: unknown, classes: readonly ErrorClass[]): boolean {
  const met = new Set<unknown>([thrown])
  for (const each of met) {
    if (read(each, 'retryable') === false) return true
    if ([catalogue.NonRetryableError, ...classes].some((Class) => isInstance(each, Class))) return true
    const related = [read(each, 'cause'), ...gathered(each)].filter(
      (other) => typeof other === 'object' && other !== null,
    )
    for (const other of related) if (met.size < 100) met.add(other)
  }
  return false
}

/**
 * An Error that looks like the stored one: an instance of the class of that name among `classes`, the catalogue and the
 * language's own (its constructor does not run), else a plain Error with that name.
 */
export function reviveError(stored: StoredError, classes: readonly ErrorClass[] = []): Error {
  const error = new Error(stored.message)
  const className = stored.class ?? stored.name
  const Class = stored.isError ? [...classes, ...knownClasses].find((each) => each.name === className) : undefined
  if (Class) Object.setPrototypeOf(error, Class.prototype as object)
  if (read(error, 'name') !== stored.name) hide(error, 'name', stored.name)
  hide(error, 'stack', stored.stack)
  if (stored.cause) hide(error, 'cause', reviveError(stored.cause, classes))
  if (stored.errors)
    hide(
      error,
      'errors',
      stored.errors.map((each) => reviveError(each, classes)),
    )
  for (const [key, value] of Object.entries(stored.fields ?? {})) show(error, key, structuredClone(value))
  if (stored.code !== undefined) show(error, 'code', stored.code)
  if (stored.retryable === false) show(error, 'retryable', false)
  if (!stored.isError) show(error, 'thrown', stored.value)
  origins.set(error, stored)
  return error
}

class Keeper {
  readonly #bounds: Bounds
  readonly #above = new Set<unknown>()
  #errorsLeft: number

  constructor(bounds: Bounds) {
    this.#bounds = bounds
    this.#errorsLeft = bounds.errors
  }

  keep(thrown: unknown, depth: number): StoredError {
    this.#errorsLeft--
    this.#above.add(thrown)
    const origin = origins.get(thrown as Error)
    const stored = {
      ...((origin?.isError ?? isError(thrown)) ? this.#nameAndText(thrown, origin) : this.#value(thrown, origin)),
      ...this.#code(thrown),
      ...this.#related(thrown, depth),
      ...this.#fields(thrown),
      ...(read(thrown, 'retryable') === false ? { retryable: false as const } : {}),
    }
    this.#above.delete(thrown)
    return stored
  }

  #nameAndText(thrown: unknown, origin: StoredError | undefined): StoredError {
    const className = origin ? (origin.class ?? origin.name) : text(read(read(thrown, 'constructor'), 'name'))
    const name = storableText(text(read(thrown, 'name')) || className || 'Error', shortText)
    const message = storableText(text(read(thrown, 'message')), this.#bounds.message)
    const stack = read(thrown, 'stack')
    return {
      name,
      ...(className && className !== name ? { class: storableText(className, shortText) } : {}),
      message,
      ...(typeof stack === 'string' ? { stack: shortStack(stack, this.#bounds.stack) } : {}),
      isError: true,
    }
  }

  #value(thrown: unknown, origin: StoredError | undefined): StoredError {
    const value = storableText(origin?.value ?? readable(thrown), this.#bounds.message / 2)
    const message = `Something other than an Error was thrown: ${value}`
    return { name: nonErrorName, message, isError: false, value }
  }

  #code(thrown: unknown): { code?: string | number } {
    const code = read(thrown, 'code')
    if (typeof code === 'string') return { code: storableText(code, shortText) }
    return typeof code === 'number' && Number.isFinite(code) ? { code: code + 0 } : {}
  }

  #related(thrown: unknown, depth: number): { cause?: StoredError; errors?: StoredError[] } {
    if (depth >= this.#bounds.causes) return {}
    const related: { cause?: StoredError; errors?: StoredError[] } = {}
    const cause = read(thrown, 'cause')
    if (cause !== undefined && cause !== null && this.#hasRoom(cause)) related.cause = this.keep(cause, depth + 1)
    if (isGathering(thrown)) {
      related.errors = gathered(thrown).flatMap((each) => (this.#hasRoom(each) ? [this.keep(each, depth + 1)] : []))
    }
    return related
  }

  #hasRoom(other: unknown): boolean {
    return this.#errorsLeft > 0 && !this.#above.has(other)
  }

  #fields(thrown: unknown): { fields?: Record<string, Piece> } {
    const fields: Record<string, Piece> = {}
    const taken = new Set(['name', 'message', 'stack', 'code', 'cause', 'retryable', '__proto__'])
    if (isGathering(thrown)) taken.add('errors')
    if (origins.get(thrown as Error)?.isError === false) taken.add('thrown')
    let room = this.#bounds.fields
    for (const key of ownKeys(thrown)) {
      if (room === 0) break
      if (taken.has(key) || Buffer.byteLength(key) > shortText || storableText(key) !== key) continue
      const piece = plainPiece(read(thrown, key), this.#bounds.fieldBytes)
      if (piece === undefined) continue
      fields[key] = piece
      room--
    }
    return Object.keys(fields).length > 0 ? { fields } : {}
  }
}

/** Drops the middle of a long message rather than the frames. */
function shortStack(stack: string, maxBytes: number): string {
  const firstFrame = stack.indexOf('\n    at ')
  const whole = storableText(stack, maxBytes)
  if (firstFrame === -1 || (stack.length <= maxBytes && !whole.endsWith('…'))) return whole
  const head = storableText(stack.slice(0, firstFrame), maxBytes / 4)
  return head + storableText(stack.slice(firstFrame), (maxBytes * 3) / 4)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function hide(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: false })
}

function show(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: true })
}
