import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { ensureInstalled, root } from './bootstrap.mjs'
import { whyNoEngine } from './engine.mjs'

// `npm test`: the whole gate, stopped by the first failure. With arguments, only vitest runs, with those arguments.

/** Programs are run by their own files, so that nothing depends on a shell or on the PATH. */
const programs = {
  prettier: 'node_modules/prettier/bin/prettier.cjs',
  oxlint: 'node_modules/oxlint/bin/oxlint',
  depcruise: 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
  knip: 'node_modules/knip/bin/knip.js',
  tsc: 'node_modules/typescript/bin/tsc',
  vitest: 'node_modules/vitest/vitest.mjs',
}

const report = join(root, 'node_modules', '.holdfast-tests.json')

const stages = [
  { name: 'format', command: [programs.prettier, '--check', '.'] },
  { name: 'lint', command: [programs.oxlint, '--type-aware'] },
  { name: 'layers', command: [programs.depcruise, 'src', '--config', '.dependency-cruiser.cjs'] },
  { name: 'nothing unused', command: [programs.knip, '--treat-config-hints-as-errors'] },
  { name: 'house rules', command: ['scripts/checks.mjs'] },
  { name: 'tests of the house rules', command: ['--test', 'scripts/checks/'] },
  { name: 'types', command: [programs.tsc, '--noEmit'] },
  { name: 'build', command: ['scripts/build.mjs'] },
  { name: 'package', command: ['scripts/package.mjs'] },
  {
    name: 'tests',
    command: [programs.vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
  },
  { name: 'containers', command: ['scripts/containers.mjs'], whySkipped: whyNoEngine },
  { name: 'chaos: storm', command: ['test/chaos/run.mjs', 'storm', '--short'] },
  { name: 'chaos: outages', command: ['test/chaos/run.mjs', 'outages', '--short'] },
  { name: 'chaos: limits', command: ['test/chaos/run.mjs', 'limits', '--short'] },
  { name: 'examples', command: ['scripts/examples.mjs'] },
]

function run(command) {
  const { status, signal, error } = spawnSync(process.execPath, command, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (error) throw error
  if (signal) console.error(`ended by ${signal}`)
  return status === 0
}

async function runGate() {
  rmSync(report, { force: true })
  const done = []
  for (const { name, command, whySkipped } of stages) {
    console.log(`\n== ${name}`)
    const why = await whySkipped?.()
    if (why !== undefined) {
      console.log(`skipped: ${why}`)
      done.push(`skipped           ${name}`)
      continue
    }
    const began = performance.now()
    const isGood = run(command)
    done.push(
      `${isGood ? 'ok    ' : 'FAILED'}  ${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${name}`,
    )
    if (!isGood) return { done, failed: name }
  }
  return { done, failed: undefined }
}

/** What vitest counted; undefined when the gate stopped before the tests. */
function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return undefined
  }
}

/** Each failed test by name with the start of its message: whoever is shown only the end of the output needs no more. */
function listFailures({ testResults }) {
  return testResults
    .flatMap(({ name, message, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === 'failed')
      // A file that could not be loaded has no tests.
      if (failed.length === 0) return message ? [{ name, title: '', messages: [message] }] : []
      return failed.map(({ fullName, failureMessages }) => ({ name, title: fullName, messages: failureMessages }))
    })
    .map(({ name, title, messages }) => {
      const why = stripVTControlCharacters(messages.join('\n')).trimEnd().split('\n').slice(0, 6)
      return [`${relative(root, name)} > ${title}`, ...why.map((line) => `  ${line}`)].join('\n')
    })
}

ensureInstalled()
const args = process.argv.slice(2)
if (args.length > 0) {
  process.exitCode = run([programs.vitest, 'run', ...args]) ? 0 : 1
} else {
  const { done, failed } = await runGate()
  const counts = readReport()
  console.log(`\n${done.join('\n')}`)
  if (failed) console.error(`\nThe gate stopped at: ${failed}`)
  if (counts) {
    for (const failure of listFailures(counts)) console.log(`\n${failure}`)
    console.log(`\n${counts.numPassedTests} passed, ${counts.numFailedTests} failed`)
  }
  process.exitCode = failed ? 1 : 0
}
