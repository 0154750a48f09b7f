import ts from 'typescript'
import { tableRows } from './support/repository.mjs'
import { evaluate, lineOf, parse, walk } from './support/typescript-text.mjs'

/** @import { Problem, Repository } from './support/repository.mjs' */

const catalogueFile = 'src/model/errors.ts'
const docFile = 'docs/errors.md'

/** Every code has one class and one line in docs/errors.md, and the reverse. */
export async function errorCatalogue(/** @type {Repository} */ { read }) {
  const text = read(catalogueFile)
  const { errorCodes } = await evaluate(text)
  const classes = classesByCode(text)
  const rows = tableRows(read(docFile), 'code')
  const documented = new Map(rows.map(({ cells, line }) => [unquote(cells[0]), { cells, line }]))

  /** @type {Problem[]} */
  const problems = []
  const report = (/** @type {string} */ file, /** @type {number} */ line, /** @type {string} */ what, remedy) =>
    problems.push({ file, line, what, remedy })

  for (const code of errorCodes) {
    const found = classes.get(code) ?? []
    if (found.length !== 1) {
      report(catalogueFile, found[1]?.line ?? 1, `${code} has ${found.length} classes.`, 'Give each code one class.')
    }
    const row = documented.get(code)
    if (row === undefined) {
      report(docFile, 1, `${code} is missing.`, 'Add its line: code, class, when, what to do.')
    } else if (found[0] && unquote(row.cells[1]) !== found[0].name) {
      report(docFile, row.line, `${code} is said to be ${row.cells[1]}; it is ${found[0].name}.`, 'Correct it.')
    } else if (row.cells.length !== 4 || row.cells.some((cell) => cell === '')) {
      report(docFile, row.line, `${code} lacks a cell.`, 'Fill in: code, class, when, what to do.')
    }
  }
  for (const [code, found] of classes) {
    if (!errorCodes.includes(code))
      report(catalogueFile, found[0].line, `${code} is not in errorCodes.`, 'Add it there, or remove the class.')
  }
  for (const [code, { line }] of documented) {
    if (!errorCodes.includes(code)) report(docFile, line, `${code} is no code.`, 'Remove the line.')
  }
  if (rows.length !== documented.size) report(docFile, 1, 'A code has two lines.', 'Keep one.')
  return problems
}

/** @returns {Map<string, { name: string, line: number }[]>} */
function classesByCode(/** @type {string} */ text) {
  const source = parse(catalogueFile, text)
  const found = new Map()
  for (const node of walk(source)) {
    if (!ts.isClassDeclaration(node) || node.name === undefined) continue
    for (const member of node.members) {
      if (!ts.isPropertyDeclaration(member) || member.name.getText(source) !== 'code') continue
      if (member.initializer === undefined || !ts.isStringLiteral(member.initializer)) continue
      const code = member.initializer.text
      found.set(code, [...(found.get(code) ?? []), { name: node.name.text, line: lineOf(source, node) }])
    }
  }
  return found
}

function unquote(/** @type {string} */ cell) {
  return cell.replaceAll('`', '')
}
