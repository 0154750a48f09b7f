import { createHash } from 'node:crypto'
import type { Definition } from '../model/workflow.ts'

/** What of a definition stays in the process: code, which the database neither keeps nor compares. */
const codeOnly = new Set(['input', 'output', 'handler', 'errors', 'nonRetryable', 'group', 'onMismatch'])

/**
 * Of what the database must know of a definition, and of nothing else: the same in every process and however an option
 * was spelled, and untouched by an edit of the handler.
 */
export function fingerprintOf(definition: Omit<Definition, 'fingerprint'>): string {
  const known = canonical({ ...definition, hasGroup: definition.group !== undefined })
  return createHash('sha256').update(known).digest('hex').slice(0, 16)
}

/** JSON of plain values only, with keys sorted at every depth. */
function canonical(value: object): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (codeOnly.has(key)) return undefined
    if (typeof inner !== 'object' || inner === null) return inner
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
