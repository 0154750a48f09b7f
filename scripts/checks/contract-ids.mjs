import { contractFile, contractIdsOf, testsWithIds } from './support/contract.mjs'
import { lineAt } from './support/repository.mjs'

/** @import { Problem, Repository } from './support/repository.mjs' */

const pendingFile = 'test/contract-pending.json'

/** The plan's numbers that are still open: only they may own a promise without a test. */
const openPlans = [2, 3, 4, 5, 6, 7]

/** Promises that are kept already. They have a test for ever: none may go back to pending. */
const kept = new Set([
  ...ids('RUN', [1, 2, 3, 4, 5, 8, 9, 17]),
  ...ids('TRY', [1, 3, 4, 5, 6, 7, 8]),
  ...ids('LEASE', [1, 2, 5, 6, 7]),
  ...ids('STEP', [1, 2, 3, 4, 5, 6, 9]),
  ...ids('OPS', [1, 2, 7, 8]),
])

/** Every promise of docs/contract.md has a test that names it, or is pending with the plan's number that owns it. */
export function contractIds(/** @type {Repository} */ repository) {
  const promised = contractIdsOf(repository)
  const tests = testsWithIds(repository, promised.keys())
  const tested = new Set(tests.map(({ id }) => id))
  const pendingText = repository.read(pendingFile)
  /** @type {Record<string, number>} */
  const pending = JSON.parse(pendingText)

  /** @type {Problem[]} */
  const problems = []
  for (const [id, line] of promised) {
    if (tested.has(id) || Object.hasOwn(pending, id)) continue
    problems.push({
      file: contractFile,
      line,
      what: `${id} has no test.`,
      remedy: `Write one under test/ whose title begins '${id}: ', and break the code once to see it fail.`,
    })
  }
  for (const { id, file, line, title } of tests) {
    if (promised.has(id)) continue
    problems.push({
      file,
      line,
      what: `'${title}' names ${id}, which the contract does not have.`,
      remedy: `Correct the id, or add the promise to ${contractFile}.`,
    })
  }
  for (const [id, plan] of Object.entries(pending)) {
    const line = lineAt(pendingText, pendingText.indexOf(`"${id}"`))
    const report = (/** @type {string} */ what, /** @type {string} */ remedy) =>
      problems.push({ file: pendingFile, line, what, remedy })
    if (!promised.has(id)) report(`${id} is not in the contract.`, 'Remove it.')
    else if (tested.has(id)) report(`${id} is pending and has a test.`, 'Remove it here: its promise is kept now.')
    else if (kept.has(id)) report(`${id} is a promise that is kept already.`, 'Bring its test back.')
    else if (!openPlans.includes(plan))
      report(`${id} is pending for ${plan}, which is not open.`, `Test it, or name one of ${openPlans.join(', ')}.`)
  }
  return problems
}

/** @returns {string[]} */
function ids(/** @type {string} */ family, /** @type {number[]} */ numbers) {
  return numbers.map((number) => `${family}-${String(number).padStart(2, '0')}`)
}
