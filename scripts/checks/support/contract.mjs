import { tableRows } from './repository.mjs'
import { testTitles } from './typescript-text.mjs'

/** @import { Repository } from './repository.mjs' */

export const contractFile = 'docs/contract.md'

/** The promises of the contract: id -> line. */
export function contractIdsOf(/** @type {Repository} */ { read }) {
  return new Map(tableRows(read(contractFile), 'id').map(({ cells, line }) => [cells[0], line]))
}

/** Every test of the repository whose title names an id of one of the contract's families. */
export function testsWithIds(/** @type {Repository} */ { paths, read }, /** @type {Iterable<string>} */ ids) {
  const families = new Set([...ids].map((id) => id.slice(0, id.lastIndexOf('-'))))
  const idPattern = new RegExp(`\\b(?:${[...families].join('|')})-\\d+\\b`, 'g')
  return paths
    .filter((path) => /^test\/.*\.test\.ts$/.test(path))
    .flatMap((file) =>
      testTitles(file, read(file)).flatMap(({ title, line }) => {
        // A title that begins like an id of no family is a slip too.
        const found = new Set([...(title.match(idPattern) ?? []), ...(title.match(/^[A-Z]+-\d+(?=:)/) ?? [])])
        return [...found].map((id) => ({ id, file, line, title }))
      }),
    )
}
