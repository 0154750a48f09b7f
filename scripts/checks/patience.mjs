import ts from 'typescript'
import { lineOf, parse, walk } from './support/typescript-text.mjs'

/** @import { Problem, Repository } from './support/repository.mjs' */

/** Without a timeout `vi.waitFor` gives up after a second, which a busy machine does not always keep to. */
export function patience(/** @type {Repository} */ { paths, read }) {
  /** @type {Problem[]} */
  const problems = []
  for (const file of paths.filter((path) => /^test\/.*\.ts$/.test(path))) {
    const source = parse(file, read(file))
    for (const node of walk(source)) {
      if (!ts.isCallExpression(node) || node.arguments.length > 1) continue
      if (!/^vi\.wait(?:For|Until)$/.test(node.expression.getText(source))) continue
      problems.push({
        file,
        line: lineOf(source, node),
        what: `${node.expression.getText(source)} gives up after a second.`,
        remedy: 'Give it a timeout that a busy machine keeps to, such as 15_000.',
      })
    }
  }
  return problems
}
