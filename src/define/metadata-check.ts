import { z } from 'zod'
import { unstorable } from '../model/storable.ts'
import { hasAtMost, isShortText } from './checks.ts'

const mostEntries = 64
const longestName = 128
const longestText = 4096

/** A copy of the given record, so that later changes to it do not reach the run. */
export function metadata(): z.ZodType<Readonly<Record<string, string>>> {
  return z.unknown().transform((value, context) => {
    const refuse = (input: unknown, path: string[], message: string): never => {
      context.issues.push({ code: 'custom', input, path, message })
      return z.NEVER
    }
    if (!isPlainObject(value)) return refuse(value, [], 'an object of texts')
    const entries = Object.entries(value)
    if (entries.length > mostEntries) return refuse(value, [], `at most ${mostEntries} entries, not ${entries.length}`)
    for (const [name, text] of entries) {
      if (!isShortText(name, longestName)) {
        return refuse(name, [], `names of 1 to ${longestName} characters without U+0000 and lone surrogates`)
      }
      if (typeof text !== 'string' || unstorable(text) !== undefined || !hasAtMost(text, longestText)) {
        return refuse(text, [name], `a text of at most ${longestText} characters without U+0000 and lone surrogates`)
      }
    }
    return Object.freeze(Object.fromEntries(entries) as Record<string, string>)
  })
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
