import ts from 'typescript'
import { lineOf, parse, walk } from './support/typescript-text.mjs'

/** @import { Problem, Repository } from './support/repository.mjs' */

/** `new Date()` reads the process's clock; the linter holds the other ways to do so, and cannot tell this one. */
export function clock(/** @type {Repository} */ { paths, read }) {
  /** @type {Problem[]} */
  const problems = []
  for (const file of paths.filter((path) => /^src\/.*\.ts$/.test(path) && path !== 'src/model/clock.ts')) {
    const source = parse(file, read(file))
    for (const node of walk(source)) {
      const isCall = ts.isCallExpression(node)
      if (!isCall && !ts.isNewExpression(node)) continue
      if (!ts.isIdentifier(node.expression) || node.expression.text !== 'Date') continue
      // Called without `new`, Date answers the present time whatever it is given.
      if (!isCall && (node.arguments?.length ?? 0) > 0) continue
      problems.push({
        file,
        line: lineOf(source, node),
        what: `${node.getText(source)} reads the process's clock.`,
        remedy: "Use new Date(clock.wallClock()) of an injected Clock; what is stored uses the database's clock.",
      })
    }
  }
  return problems
}
