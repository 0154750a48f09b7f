#!/usr/bin/env node
/**
 * `npm run test:planted [NAME…]`: proves that the contract's tests can fail.
 *
 * Each test/planted/*.patch breaks one rule of src or sql on purpose and names the promises that must notice:
 *
 *     # expects: STEP-02, LEASE-05
 *     # breaks: a step is written without looking at the claim's token
 *     --- a/sql/functions/keep_steps.sql
 *     …
 *
 * A line `# in: test/steps/one-answer.test.ts` names the files to look into where there are many that take long.
 *
 * In a copy of the repository, each is applied, the tests of those ids are run, and at least one test of every id must
 * fail that passed unpatched. A patch that no longer applies, or breaks the suite before a test begins, counts for
 * nothing and fails this command.
 */

import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { contractIdsOf, testsWithIds } from '../../scripts/checks/support/contract.mjs'
import { openRepository } from '../../scripts/checks/support/repository.mjs'

const longestRunMs = 600_000
const rootUrl = new URL('../../', import.meta.url)
const root = fileURLToPath(rootUrl)
const folder = join(root, 'test/planted')
const repository = openRepository(rootUrl)
const promised = new Set(contractIdsOf(repository).keys())
const tests = testsWithIds(repository, promised)

const copy = mkdtempSync(join(tmpdir(), 'holdfast-planted-'))
/** @type {import('node:child_process').ChildProcess | undefined} */
let running
process.on('exit', () => {
  end(running, 'SIGKILL')
  rmSync(copy, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

process.exitCode = await main(process.argv.slice(2))

async function main(/** @type {string[]} */ asked) {
  const all = readdirSync(folder)
    .filter((name) => name.endsWith('.patch'))
    .toSorted()
    .map(readPatch)
  const wanted = asked.map((name) => basename(name, '.patch'))
  const unknown = wanted.filter((name) => !all.some((patch) => patch.name === name))
  if (unknown.length > 0) {
    console.error(`No patch is named ${unknown.join(', ')}. There are: ${all.map(({ name }) => name).join(', ')}.`)
    return 2
  }
  const patches = wanted.length > 0 ? all.filter(({ name }) => wanted.includes(name)) : all

  copyRepository()
  const sound = patches.filter(({ wrong }) => wrong === undefined)
  const before =
    sound.length > 0
      ? await runTests(
          sound.flatMap(({ ids }) => ids),
          sound.flatMap(filesOf),
        )
      : undefined
  let missed = 0
  for (const patch of patches) {
    const startedAt = performance.now()
    const verdict = await judge(patch, before)
    if (!verdict.isCaught) missed++
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    console.log(`${verdict.isCaught ? 'caught' : 'MISSED'}  ${patch.name}  [${patch.ids.join(', ')}]  ${seconds} s`)
    console.log(`        breaks: ${patch.breaks}`)
    for (const line of verdict.lines) console.log(`        ${line}`)
  }
  console.log(`\n${patches.length} planted, ${patches.length - missed} caught, ${missed} missed`)
  return missed > 0 || patches.length === 0 ? 1 : 0
}

function readPatch(/** @type {string} */ fileName) {
  const path = join(folder, fileName)
  const text = readFileSync(path, 'utf8')
  const ids =
    /^# expects: *(.+)$/m
      .exec(text)?.[1]
      .split(/[\s,]+/)
      .filter(Boolean) ?? []
  const breaks = /^# breaks: *(.+)$/m.exec(text)?.[1] ?? ''
  const files = /^# in: *(.+)$/m
    .exec(text)?.[1]
    .split(/[\s,]+/)
    .filter(Boolean)
  const touched = [...text.matchAll(/^(?:---|\+\+\+) (?:[ab]\/)?(\S+)/gm)].map(([, file]) => file)
  return { name: basename(fileName, '.patch'), path, ids, breaks, files, wrong: whatIsWrong(ids, breaks, touched) }
}

function whatIsWrong(/** @type {string[]} */ ids, /** @type {string} */ breaks, /** @type {string[]} */ touched) {
  if (ids.length === 0) return 'It lacks a line `# expects: STEP-02`.'
  if (breaks === '') return 'It lacks a line `# breaks: what it breaks`.'
  const unknown = ids.filter((id) => !promised.has(id))
  if (unknown.length > 0) return `The contract has no ${unknown.join(', ')}.`
  const untested = ids.filter((id) => !tests.some((test) => test.id === id))
  if (untested.length > 0) return `No test names ${untested.join(', ')}.`
  const outside = touched.filter((file) => !/^(?:src|sql)\//.test(file))
  return outside.length > 0 ? `It touches ${outside.join(', ')}: only src and sql may be broken.` : undefined
}

function copyRepository() {
  for (const path of repository.paths) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    cpSync(join(root, path), join(copy, path))
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
}

async function judge(patch, before) {
  const missed = (/** @type {string[]} */ ...lines) => ({ isCaught: false, lines })
  if (patch.wrong !== undefined) return missed(patch.wrong)
  const unpatched = patch.ids.filter((id) => !before.some((test) => test.ids.includes(id) && test.status === 'passed'))
  if (unpatched.length > 0) return missed(`Also without the patch no test of ${unpatched.join(', ')} passes.`)

  const refusal = apply(patch.path)
  if (refusal !== undefined) return missed(`It does not apply any more: ${refusal}`)
  const after = await runTests(patch.ids, filesOf(patch))
  const stuck = apply(patch.path, '--reverse')
  if (stuck !== undefined) throw new Error(`${patch.name} could not be taken back: ${stuck}`)
  const lines = patch.ids.map((id) => describeId(id, before, after))
  return { isCaught: lines.every(({ isCaught }) => isCaught), lines: lines.map(({ line }) => line) }
}

/** A test counts if it passed unpatched, so that what fails is the promise and not the surroundings. */
function describeId(/** @type {string} */ id, before, after) {
  const ran = after.filter((test) => test.ids.includes(id))
  if (ran.length === 0) return { isCaught: false, line: `${id}: no test began: the patch breaks more than a rule.` }
  const failed = ran.find(
    (test) =>
      test.status === 'failed' &&
      before.some((was) => was.file === test.file && was.name === test.name && was.status === 'passed'),
  )
  if (failed === undefined) return { isCaught: false, line: `${id}: ${ran.length} ran and none failed.` }
  return { isCaught: true, line: `${id}: ${failed.message}  (${failed.file})` }
}

function filesOf(/** @type {{ ids: string[], files?: string[] }} */ { ids, files }) {
  return files ?? tests.filter(({ id }) => ids.includes(id)).map(({ file }) => file)
}

/** Applies a patch to the copy. Answers why not, if not. */
function apply(/** @type {string} */ path, /** @type {string[]} */ ...options) {
  try {
    execFileSync('git', ['apply', '--whitespace=nowarn', ...options, path], {
      cwd: copy,
      stdio: ['ignore', 'ignore', 'pipe'],
      // Else git would look for a repository around the copy and skip every file outside of it.
      env: { ...process.env, GIT_CEILING_DIRECTORIES: dirname(copy) },
    })
    return undefined
  } catch (error) {
    return String(error.stderr).trim().split('\n')[0]
  }
}

/** Runs the tests whose titles name one of the ids, in the copy. Answers those that began. */
async function runTests(/** @type {string[]} */ ids, /** @type {string[]} */ files) {
  const report = join(copy, 'planted-report.json')
  rmSync(report, { force: true })
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const pattern = `\\b(?:${ids.join('|')})\\b`
  running = spawn(
    process.execPath,
    [vitest, 'run', '-t', pattern, '--reporter=json', `--outputFile=${report}`, ...new Set(files)],
    { cwd: copy, stdio: 'ignore', detached: true, env: { ...process.env, CI: '1' } },
  )
  const timer = setTimeout(() => end(running, 'SIGTERM'), longestRunMs)
  await new Promise((resolve) => running?.once('close', resolve))
  clearTimeout(timer)
  end(running, 'SIGKILL')
  running = undefined
  if (!existsSync(report)) return []
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  return testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status, failureMessages }) => ({
        file: file.slice(file.indexOf('/test/') + 1),
        name: fullName,
        status,
        ids: fullName.match(/[A-Z]+-\d+/g) ?? [],
        message: String(failureMessages?.[0] ?? '')
          .split('\n')[0]
          .slice(0, 160),
      })),
  )
}

/** Ends a run with everything it started: it leads a process group of its own. */
function end(
  /** @type {import('node:child_process').ChildProcess | undefined} */ child,
  /** @type {NodeJS.Signals} */ signal,
) {
  if (child?.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The whole group has ended already.
  }
}
