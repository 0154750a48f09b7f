/**
 * SQL without its comments, and without what its strings say, each replaced by blanks so that lines and offsets stay.
 * A dollar-quoted body is code and is read as such.
 */

const tokens = /--[^\n]*|'(?:[^']|'')*'|"(?:[^"]|"")*"/g

/** Comments blanked; strings kept. */
export function withoutComments(/** @type {string} */ sql) {
  return replaceTokens(blankBlockComments(sql), (token) => (token.startsWith('--') ? blank(token) : token))
}

/** Comments and the inside of string literals blanked; quoted identifiers kept. */
export function codeOnly(/** @type {string} */ sql) {
  return replaceTokens(withoutComments(sql), (token) =>
    token.startsWith("'") ? `'${blank(token.slice(1, -1))}'` : token,
  )
}

function replaceTokens(/** @type {string} */ sql, /** @type {(token: string) => string} */ replace) {
  return sql.replace(tokens, replace)
}

/** Block comments nest in Postgres. */
function blankBlockComments(/** @type {string} */ sql) {
  let out = ''
  let depth = 0
  const pieces = sql.split(/(--[^\n]*|'(?:[^']|'')*'|\/\*|\*\/)/)
  for (const piece of pieces) {
    if (piece === '/*') depth++
    out += depth > 0 || piece === '*/' ? blank(piece) : piece
    if (piece === '*/' && depth > 0) depth--
  }
  return out
}

function blank(/** @type {string} */ text) {
  return text.replace(/[^\n]/g, ' ')
}
