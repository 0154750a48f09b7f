import { lineAt, tableRows } from './support/repository.mjs'
import { withoutComments } from './support/sql-text.mjs'
import { evaluate } from './support/typescript-text.mjs'

/** @import { Problem, Repository } from './support/repository.mjs' */

const tableFile = 'src/model/state.ts'
const docFile = 'docs/contract.md'
const constraint = /constraint\s+runs_state_check\s+check\s*\(\s*state\s+in\s*\(([^)]*)\)/i

/** The states and moves of src/model/state.ts, the check constraint in SQL and the table in the docs are the same. */
export async function stateTable(/** @type {Repository} */ { paths, read }) {
  const { states, moves } = await evaluate(read(tableFile))
  /** @type {Problem[]} */
  const problems = []
  const compare = (/** @type {string} */ file, /** @type {number} */ line, /** @type {string} */ what, a, b) => {
    if (a.toSorted().join() === b.toSorted().join()) return
    problems.push({
      file,
      line,
      what: `${what}: ${b.join(', ') || 'nothing'}; ${tableFile} says ${a.join(', ') || 'nothing'}.`,
      remedy: 'Make them the same.',
    })
  }

  const migrations = paths.filter((path) => path.startsWith('sql/migrations/'))
  // The last migration that states the constraint is the one in force.
  const stated = migrations.toReversed().find((path) => constraint.test(withoutComments(read(path))))
  if (stated === undefined) {
    problems.push({
      file: migrations[0] ?? 'sql/migrations',
      line: 1,
      what: 'No migration has a constraint runs_state_check of the form `check (state in (…))`.',
      remedy: 'Name the check of runs.state so.',
    })
  } else {
    const sql = withoutComments(read(stated))
    const match = /** @type {RegExpExecArray} */ (constraint.exec(sql))
    const inSql = [...match[1].matchAll(/'([^']*)'/g)].map(([, state]) => state)
    compare(stated, lineAt(sql, match.index), 'runs_state_check allows', states, inSql)
  }

  const rows = tableRows(read(docFile), 'state')
  const documented = rows.map(({ cells }) => names(cells[0])[0])
  compare(docFile, rows[0]?.line ?? 1, 'The table of states lists', states, documented)
  for (const { cells, line } of rows) {
    const [state] = names(cells[0])
    if (states.includes(state)) compare(docFile, line, `${state} may become`, moves[state], names(cells[2]))
  }
  return problems
}

/** The names in backticks of a table's cell. */
function names(/** @type {string | undefined} */ cell) {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name)
}
