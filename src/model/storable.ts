/**
 * What a Postgres text column in UTF-8 can hold: any string without U+0000 and without lone surrogates. Text that only
 * describes something (an error's message) is made storable; text that identifies something (a key) is refused.
 */

const replacement = '\uFFFD'
const ellipsis = '…'
const ellipsisBytes = 3

// With the u flag a surrogate range matches lone surrogates only.
const loneSurrogate = /[\uD800-\uDFFF]/u
const loneSurrogates = new RegExp(loneSurrogate, 'gu')

/** Replaces what cannot be stored by U+FFFD and cuts to `maxBytes` of UTF-8, marking the cut with '…'. */
export function storableText(text: string, maxBytes: number = Infinity): string {
  // A UTF-16 unit is at least one byte of UTF-8, so what lies beyond is never needed, however long the text.
  const head = text.length > maxBytes ? text.slice(0, maxBytes + 1) : text
  const clean = head.replaceAll('\0', replacement).replace(loneSurrogates, replacement)
  return cut(clean, maxBytes)
}

/** Why a key, name or label cannot be stored as it is; undefined if it can. */
export function unstorable(text: string): string | undefined {
  if (text.includes('\0')) return 'contains U+0000'
  if (loneSurrogate.test(text)) return 'contains half of a surrogate pair'
  return undefined
}

function cut(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  const mark = maxBytes >= ellipsisBytes ? ellipsis : ''
  let end = Math.max(0, maxBytes - (mark === '' ? 0 : ellipsisBytes))
  while (end > 0 && isContinuation(bytes[end])) end--
  return bytes.toString('utf8', 0, end) + mark
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
