import { matches } from './support/repository.mjs'
import { codeOnly, withoutComments } from './support/sql-text.mjs'
import { parse, walk } from './support/typescript-text.mjs'
import ts from 'typescript'

/** @import { Problem, Repository } from './support/repository.mjs' */

const theClock = 'sql/functions/_now.sql'

const clocks =
  /\b(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\(|\b(?:current_timestamp|current_time|current_date|localtimestamp|localtime)\b/gi
const clockLiterals = /'(?:now|today|tomorrow|yesterday)'/gi

/** SQL in TypeScript that may read a clock of its own, and why. */
const allowed = {
  'src/db/migrate.ts': 'its own tables exist before any function does',
}

/** All SQL reads time through holdfast._now(), so that a test can move it and no two clocks disagree. */
export function sqlClock(/** @type {Repository} */ { paths, read }) {
  /** @type {Problem[]} */
  const problems = []
  const report = (/** @type {string} */ file, /** @type {number} */ line, /** @type {string} */ found) =>
    problems.push({ file, line, what: `${found.trim()} is a second clock.`, remedy: 'Use holdfast._now().' })

  for (const file of paths.filter((path) => path.startsWith('sql/') && path !== theClock)) {
    const text = read(file)
    for (const { match, line } of matches(codeOnly(text), clocks)) report(file, line, match[0])
    for (const { match, line } of matches(withoutComments(text), clockLiterals)) report(file, line, match[0])
  }
  for (const file of paths.filter((path) => /^src\/.*\.ts$/.test(path) && !Object.hasOwn(allowed, path))) {
    const source = parse(file, read(file))
    for (const node of walk(source)) {
      if (!ts.isStringLiteralLike(node) && !ts.isTemplateHead(node) && !ts.isTemplateMiddleOrTemplateTail(node))
        continue
      const offset = node.getStart(source)
      for (const { match } of matches(node.getText(source), clocks)) {
        report(file, source.getLineAndCharacterOfPosition(offset + match.index).line + 1, match[0])
      }
    }
  }
  return problems
}
