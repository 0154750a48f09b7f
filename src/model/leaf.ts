/** The kinds of value the codec keeps in a form of its own beside superjson's, and the way back from each. */

/** Something stored as one piece of text: bytes in base64, or a Date that holds no time. */
export class Leaf {
  readonly kind: string
  readonly text: string

  constructor(kind: string, text: string) {
    this.kind = kind
    this.text = text
  }
}

export const invalidDate = 'InvalidDate'

const views = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
] as const

const reviveLeaf: ReadonlyMap<string, (buffer: ArrayBuffer) => unknown> = new Map<
  string,
  (buffer: ArrayBuffer) => unknown
>([
  ...views.map(
    (View: new (buffer: ArrayBuffer) => unknown) => [View.name, (buffer: ArrayBuffer) => new View(buffer)] as const,
  ),
  ['Buffer', (buffer) => Buffer.from(buffer)],
  ['ArrayBuffer', (buffer) => buffer],
  [invalidDate, () => new Date(NaN)],
])

export const viewNames: ReadonlyMap<object, string> = new Map<object, string>([
  ...views.map((View) => [View.prototype, View.name] as const),
  [Buffer.prototype, 'Buffer'],
])

export function fromLeaf(kind: string, text: string): unknown {
  const revive = reviveLeaf.get(kind)
  if (!revive) throw new TypeError(`unknown kind ${kind}`)
  return revive(Uint8Array.from(Buffer.from(text, 'base64')).buffer)
}

/** What is kept of an Error that is part of a value. */
export interface ErrorParts {
  name: string
  message: string
  code?: string | number
  cause?: unknown
  errors?: unknown
}

export function fromErrorParts({ name, message, code, errors, ...rest }: ErrorParts): Error {
  const error = new Error(message, rest)
  // The place where it was decoded says nothing about where it came from.
  Object.defineProperty(error, 'stack', { value: `${name}: ${message}`, writable: true, configurable: true })
  if (name !== error.name) Object.defineProperty(error, 'name', { value: name, writable: true, configurable: true })
  if (errors !== undefined)
    Object.defineProperty(error, 'errors', { value: errors, writable: true, configurable: true })
  return code === undefined ? error : Object.assign(error, { code })
}
