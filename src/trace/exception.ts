import type { Exception } from '@opentelemetry/api'
import { isError, read, readable } from '../model/thrown.ts'

/** What the SDK can record of anything that was thrown. Like `errorTypeOf` it never throws. */
export function toException(thrown: unknown): Exception {
  if (!isError(thrown)) return readable(thrown)
  return { name: errorTypeOf(thrown), message: text(read(thrown, 'message')), stack: text(read(thrown, 'stack')) }
}

/** The name of an error; of anything else its type. */
export function errorTypeOf(thrown: unknown): string {
  return isError(thrown) ? text(read(thrown, 'name')) || 'Error' : typeof thrown
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
