#!/usr/bin/env node
/**
 * `npm run check`: the rules of this repository that neither compiler nor linter can hold. Each is one file of
 * scripts/checks, a function from the repository to the problems it found. Names as arguments run only those.
 */

import { clock } from './checks/clock.mjs'
import { contractIds } from './checks/contract-ids.mjs'
import { errorCatalogue } from './checks/error-catalogue.mjs'
import { fileLength } from './checks/file-length.mjs'
import { leftovers } from './checks/leftovers.mjs'
import { patience } from './checks/patience.mjs'
import { sqlClock } from './checks/sql-clock.mjs'
import { sqlFunctions } from './checks/sql-functions.mjs'
import { stateTable } from './checks/state-table.mjs'
import { openRepository } from './checks/support/repository.mjs'
import { words } from './checks/words.mjs'

const checks = {
  'contract-ids': contractIds,
  'error-catalogue': errorCatalogue,
  'state-table': stateTable,
  'sql-clock': sqlClock,
  'sql-functions': sqlFunctions,
  clock,
  words,
  leftovers,
  patience,
  'file-length': fileLength,
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(checks, name))
if (unknown.length > 0) {
  console.error(`No check is named ${unknown.join(', ')}. There are: ${Object.keys(checks).join(', ')}.`)
  process.exit(2)
}

const repository = openRepository(new URL('..', import.meta.url))
let count = 0
for (const [name, check] of Object.entries(checks)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  const problems = await run(check)
  count += problems.length
  console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'}  ${name}`)
  for (const { file, line, what, remedy } of problems) console.log(`      ${file}:${line}  ${what}\n        ${remedy}`)
}
if (count > 0) console.error(`\n${count} problem${count === 1 ? '' : 's'}`)
process.exitCode = count > 0 ? 1 : 0

async function run(check) {
  try {
    return await check(repository)
  } catch (error) {
    // A file that a check compares with is gone, or cannot be read.
    return [{ file: error.path ?? 'scripts/checks', line: 1, what: error.message, remedy: 'Bring it back.' }]
  }
}
