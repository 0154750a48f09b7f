/** @import { Problem, Repository } from './support/repository.mjs' */

const longest = 250

/** Files that may be longer: path -> why it is still one idea. */
const allowed = {
  'src/model/errors.ts': 'the catalogue: one class a code, each a few lines',
}

/** A file that grew past what one reads in a sitting has more than one idea. */
export function fileLength(/** @type {Repository} */ { paths, read }) {
  /** @type {Problem[]} */
  const problems = []
  const here = 'scripts/checks/file-length.mjs'
  const tooLong = new Map()
  for (const file of paths.filter((path) => /^(?:src\/.*\.ts|sql\/.*\.sql)$/.test(path))) {
    const count = read(file).trimEnd().split('\n').length
    if (count > longest) tooLong.set(file, count)
  }
  for (const [file, count] of tooLong) {
    if (Object.hasOwn(allowed, file)) continue
    problems.push({
      file,
      line: longest + 1,
      what: `${count} lines; ${longest} is the most.`,
      remedy: `Split the idea. If it truly is one, add it to ${here} with the reason.`,
    })
  }
  for (const file of Object.keys(allowed).filter((path) => !tooLong.has(path))) {
    problems.push({ file, line: 1, what: 'Its exception is not needed.', remedy: `Remove it from ${here}.` })
  }
  return problems
}
