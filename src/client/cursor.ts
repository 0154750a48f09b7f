import { ArgumentError } from '../model/errors.ts'
import { isUuid } from '../model/id.ts'

/** Where a list goes on. Opaque to users, so that it may hold something else one day. */

const version = 'r1.'

export function writeCursor(before: string): string {
  return version + Buffer.from(before.replaceAll('-', ''), 'hex').toString('base64url')
}

/** Throws ArgumentError for what `writeCursor` has not made. */
export function readCursor(cursor: string): string {
  const hex = Buffer.from(cursor.slice(version.length), 'base64url').toString('hex')
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  if (cursor.startsWith(version) && isUuid(id) && writeCursor(id) === cursor) return id
  throw new ArgumentError('cursor is not one of a page of runs.', {
    field: 'cursor',
    remedy: 'Pass the cursor of the page before as it was, or leave it out to begin with the newest run.',
  })
}
