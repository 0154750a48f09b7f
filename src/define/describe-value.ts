import { types } from 'node:util'

/** The kind of a value in a few words, for messages. Never the text of a string: it may be a password or a person's data. */
export function describeValue(value: unknown): string {
  if (value === '') return 'an empty string'
  if (typeof value === 'object' && value !== null) return describeObject(value)
  if (value === null || typeof value === 'undefined') return String(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return `a ${typeof value}`
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? 'an invalid Date' : 'a Date'
  if (types.isPromise(value)) return 'a promise'
  return 'an object'
}
