import { HoldfastError, PayloadTooLargeError, UnserializableError } from './errors.ts'
import type { ErrorParts } from './leaf.ts'
import { invalidDate, Leaf, viewNames } from './leaf.ts'

/**
 * Copies a value into the kinds that can be stored, or says where it holds something that cannot. A value is taken as a
 * tree: an object met twice becomes two equal ones, as in JSON, and one met within itself is refused. Every property is
 * read once, so what is stored is what was checked, whatever getters and proxies do.
 */

export const deepestLevel = 1_000

/** Throws UnserializableError with the path below `field`, or PayloadTooLargeError as soon as `maxBytes` is passed. */
export function toPortable(value: unknown, field: string, maxBytes: number): unknown {
  const copier = new Copier(field, maxBytes)
  try {
    return copier.copy(value)
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    throw copier.refusal('something that throws when it is read', 'Read it first and store a plain copy.', error)
  }
}

export function tooLarge(field: string, size: string, maxBytes: number): PayloadTooLargeError {
  return new PayloadTooLargeError(`${field} is ${size} as stored; the limit is ${maxBytes} bytes.`, {
    field,
    remedy: 'Store the data elsewhere and pass its id or URL.',
  })
}

interface Call {
  readonly call: string
}

const asPlain = 'Convert it to a plain object, an array or text first.'

class Copier {
  readonly #field: string
  readonly #maxBytes: number
  // Not popped when something throws: then it says where.
  readonly #trail: (string | number | Call)[] = []
  readonly #ancestors = new Map<object, number>()
  #left: number

  constructor(field: string, maxBytes: number) {
    this.#field = field
    this.#maxBytes = maxBytes
    this.#left = maxBytes
  }

  copy(value: unknown): unknown {
    switch (typeof value) {
      case 'function':
        throw this.refusal('a function', 'Leave it out, or store what it would return.')
      case 'symbol':
        throw this.refusal('a symbol', 'Store its description as text.')
      case 'object':
        return value === null ? null : this.#nested(value)
      case 'string':
        this.#spend(value.length)
        return value
      case 'bigint':
        this.#spend(value.toString(16).length)
        return value
      case 'undefined':
      case 'boolean':
      case 'number':
        this.#spend(1)
        return value
    }
  }

  refusal(what: string, remedy: string, cause?: unknown): UnserializableError {
    const path = this.#path(this.#trail.length)
    return new UnserializableError(`${path} is ${what}, which cannot be stored.`, path, { field: path, remedy, cause })
  }

  // Each counts at least as little as it takes when stored, so that nothing is refused that would have fitted.
  #spend(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw tooLarge(this.#field, `more than ${this.#maxBytes} bytes`, this.#maxBytes)
  }

  #nested(value: object): unknown {
    this.#spend(1)
    const above = this.#ancestors.get(value)
    if (above !== undefined) {
      throw this.refusal(`a reference back to ${this.#path(above)}`, 'Store an id in place of the cycle.')
    }
    const depth = this.#trail.length
    if (depth > deepestLevel) throw this.#tooDeep()
    this.#ancestors.set(value, depth)
    const copy = this.#object(value)
    this.#ancestors.delete(value)
    return copy
  }

  #object(value: object): unknown {
    if (Array.isArray(value)) return this.#list(value, (at) => at)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (isPlainPrototype(prototype)) return this.#record(value)
    if (ArrayBuffer.isView(value)) return this.#bytes(value, viewNames.get(prototype as object))
    switch (prototype) {
      case Date.prototype:
        return this.#date(value as Date)
      case Map.prototype:
        return this.#map(value as Map<unknown, unknown>)
      case Set.prototype:
        return new Set(this.#list([...(value as Set<unknown>)], (at) => ({ call: `values()[${at}]` })))
      case RegExp.prototype:
        return new RegExp(value as RegExp)
      case URL.prototype:
        return new URL((value as URL).href)
      case ArrayBuffer.prototype:
        return this.#bytes(new DataView(value as ArrayBuffer), 'ArrayBuffer')
    }
    if (value instanceof Error) return this.#error(value)
    if (value instanceof Promise) throw this.refusal('a promise', 'Await it first.')
    throw this.refusal(instanceOf(prototype), asPlain)
  }

  #at<T>(segment: string | number | Call, read: () => T): unknown {
    this.#trail.push(segment)
    const copy = this.copy(read())
    this.#trail.pop()
    return copy
  }

  #list(items: readonly unknown[], segment: (at: number) => number | Call): unknown[] {
    this.#spend(items.length)
    const copies: unknown[] = []
    // Holes become undefined, so that they are kept as such. A loop: at 1000 levels a callback's frames are too many.
    for (let at = 0; at < items.length; at += 1) copies.push(this.#at(segment(at), () => items[at]))
    return copies
  }

  #record(value: object): unknown {
    const entries: [string, unknown][] = []
    for (const key of Object.keys(value)) {
      this.#spend(key.length)
      entries.push([key, this.#at(key, () => Reflect.get(value, key))])
    }
    return Object.fromEntries(entries)
  }

  #map(value: Map<unknown, unknown>): Map<unknown, unknown> {
    return new Map(
      Array.from(value, ([key, member], at) => {
        const isNamed = typeof key === 'string' || typeof key === 'number'
        return [
          this.#at({ call: `keys()[${at}]` }, () => key),
          this.#at({ call: isNamed ? `get(${JSON.stringify(key)})` : `values()[${at}]` }, () => member),
        ]
      }),
    )
  }

  #date(value: Date): unknown {
    const time = Date.prototype.getTime.call(value)
    return Number.isNaN(time) ? new Leaf(invalidDate, '') : new Date(time)
  }

  #bytes(view: ArrayBufferView, name: string | undefined): Leaf {
    if (name === undefined) throw this.refusal(instanceOf(Object.getPrototypeOf(view)), 'Copy it to a Uint8Array.')
    this.#spend(view.byteLength)
    return new Leaf(name, Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('base64'))
  }

  #error(error: Error): Error {
    const { name, message } = error
    const parts: ErrorParts = {
      name: String(this.#at('name', () => (typeof name === 'string' ? name : 'Error'))),
      message: String(this.#at('message', () => (typeof message === 'string' ? message : ''))),
    }
    const code: unknown = Reflect.get(error, 'code')
    if (typeof code === 'string' || Number.isFinite(code)) parts.code = this.#at('code', () => code) as string | number
    if ('cause' in error) parts.cause = this.#at('cause', () => error.cause)
    const errors: unknown = Reflect.get(error, 'errors')
    if (Array.isArray(errors)) parts.errors = this.#at('errors', () => errors)
    return Object.assign(Object.create(Error.prototype) as Error, parts)
  }

  #tooDeep(): UnserializableError {
    const path = this.#path(8)
    return new UnserializableError(`${this.#field} is nested deeper than ${deepestLevel} levels.`, path, {
      field: this.#field,
      remedy: 'Flatten it, for example to a list of items with parent ids.',
    })
  }

  #path(length: number): string {
    return this.#field + this.#trail.slice(0, length).map(segmentText).join('')
  }
}

function segmentText(segment: string | number | Call): string {
  if (typeof segment === 'object') return `.${segment.call}`
  if (typeof segment === 'number') return `[${segment}]`
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`
}

// Another realm (a vm context, as some test runners use) has an Object.prototype of its own.
export function isPlainPrototype(prototype: unknown): boolean {
  if (prototype === Object.prototype || prototype === null) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf')
}

function instanceOf(prototype: unknown): string {
  const name: unknown = (prototype as { constructor?: { name?: unknown } } | null)?.constructor?.name
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'an object with a prototype of its own'
}
