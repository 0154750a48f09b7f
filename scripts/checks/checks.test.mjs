/** Each rule refuses what it is there to refuse, and lets pass what looks like it. Run by `node --test scripts`. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { clock } from './clock.mjs'
import { contractIds } from './contract-ids.mjs'
import { errorCatalogue } from './error-catalogue.mjs'
import { fileLength } from './file-length.mjs'
import { leftovers } from './leftovers.mjs'
import { patience } from './patience.mjs'
import { sqlClock } from './sql-clock.mjs'
import { sqlFunctions } from './sql-functions.mjs'
import { stateTable } from './state-table.mjs'
import { words } from './words.mjs'

const root = new URL('../../', import.meta.url)
const real = (/** @type {string} */ path) => readFileSync(new URL(path, root), 'utf8')

/** A repository of these files alone. */
function repository(/** @type {Record<string, string>} */ files) {
  return { paths: Object.keys(files), read: (/** @type {string} */ path) => files[path] }
}

/** What a check says of these files, as `file:line what`. */
async function said(check, files) {
  return (await check(repository(files))).map(({ file, line, what }) => `${file}:${line} ${what}`)
}

async function refuses(check, files, ...expected) {
  const found = await said(check, files)
  assert.equal(found.length, expected.length, `said: ${JSON.stringify(found, null, 2)}`)
  for (const [index, pattern] of expected.entries()) assert.match(found[index], pattern)
}

const contract = (...ids) => `| id | promise |\n|---|---|\n${ids.map((id) => `| ${id} | it holds |\n`).join('')}`
const promises = (ids, pending, tests) => ({
  'docs/contract.md': contract(...ids),
  'test/contract-pending.json': JSON.stringify(pending),
  'test/some.test.ts': tests,
})

test('contract-ids: a test, a template, a table of tests or a pending line will do', async () => {
  const tests = "test('STEP-01, STEP-02: a', f)\nit.each([1])('STEP-03: %s', f)\ntest(`STEP-04: ${x} b`, f)"
  const ids = ['STEP-01', 'STEP-02', 'STEP-03', 'STEP-04', 'WAIT-01']
  await refuses(contractIds, promises(ids, { 'WAIT-01': 5 }, tests))
})

test('contract-ids: neither a comment, a skipped test nor another string is a test', async () => {
  const tests = "// test('STEP-01: a')\ntest.skip('STEP-01: a', f)\ntest.todo('STEP-01: a')\nconst x = 'STEP-01: a'"
  await refuses(contractIds, promises(['STEP-01'], {}, tests), /docs\/contract\.md:3 STEP-01 has no test/)
})

test('contract-ids: an unknown id fails, of a known family and of none', async () => {
  const tests = "test('STEP-01: a', f)\ntest('STEP-99: b', f)\ntest('STEPS-01: c', f)\ntest('reads UTF-16: d', f)"
  await refuses(contractIds, promises(['STEP-01'], {}, tests), /test\.ts:2 .* STEP-99/, /test\.ts:3 .* STEPS-01/)
})

test('contract-ids: pending is for promises of an open plan that have no test yet', async () => {
  const ids = ['STEP-01', 'WAIT-01', 'WAIT-02', 'WAIT-03']
  const pending = { 'STEP-01': 5, 'WAIT-01': 5, 'WAIT-02': 1, 'WAIT-03': 5, 'WAIT-04': 5 }
  await refuses(
    contractIds,
    promises(ids, pending, "test('WAIT-01: a', f)"),
    /STEP-01 is a promise that is kept already/,
    /WAIT-01 is pending and has a test/,
    /WAIT-02 is pending for 1, which is not open/,
    /WAIT-04 is not in the contract/,
  )
})

const errors = {
  'src/model/errors.ts': real('src/model/errors.ts'),
  'docs/errors.md': real('docs/errors.md'),
}

test('error-catalogue: code without a class, class without a code, line without a code and the reverse', async () => {
  const edit = (file, from, to) => {
    assert.ok(errors[file].includes(from))
    return { ...errors, [file]: errors[file].replace(from, to) }
  }
  await refuses(errorCatalogue, errors)
  await refuses(
    errorCatalogue,
    edit('src/model/errors.ts', "code = 'CLOSED'", "code = 'SHUT'"),
    /CLOSED has 0 classes/,
    /SHUT is not in errorCodes/,
  )
  await refuses(errorCatalogue, edit('docs/errors.md', '`CLOSED`', '`SHUT`'), /CLOSED is missing/, /SHUT is no code/)
  await refuses(errorCatalogue, edit('docs/errors.md', '`ClosedError`', '`ShutError`'), /CLOSED is said to be/)
  await refuses(
    errorCatalogue,
    edit('docs/errors.md', '| Use a newer server |', '| |'),
    /DATABASE_VERSION lacks a cell/,
  )
})

const statesAre = (docs, sql) => ({
  'src/model/state.ts': "export const states = ['a', 'b'] as const\nexport const moves = { a: ['b'], b: [] }",
  'docs/contract.md': `| state | means | may become |\n|---|---|---|\n${docs}`,
  'sql/migrations/0001_x.sql': sql,
})
const goodStates = '| `a` | x | `b` |\n| `b` | y | |\n'
const goodCheck = "constraint runs_state_check\n check (state in ('b', 'a'))"

test('state-table: SQL and docs have the states and the moves of the table', async () => {
  await refuses(stateTable, statesAre(goodStates, goodCheck))
  await refuses(
    stateTable,
    statesAre(goodStates, goodCheck.replace("'b', ", '')),
    /runs_state_check allows: a; .* a, b/,
  )
  await refuses(stateTable, statesAre(goodStates, `-- ${goodCheck.replace('\n', '')}`), /No migration/)
  await refuses(stateTable, statesAre('| `a` | x | `b` |\n', goodCheck), /The table of states lists: a; .* a, b/)
  await refuses(
    stateTable,
    statesAre(goodStates.replace('| y | |', '| y | `a` |'), goodCheck),
    /b may become: a; .* nothing/,
  )
})

test('sql-clock: every clock of Postgres but ours, in code and literals, not in comments', async () => {
  const file = 'sql/functions/x.sql'
  const lines = ['now()', 'Current_Timestamp', 'clock_timestamp ()', 'localtimestamp(0)', "'now'::timestamptz"]
  for (const line of [...lines, 'statement_timestamp()', 'transaction_timestamp()', 'timeofday()', 'current_date']) {
    await refuses(sqlClock, { [file]: `select\n${line};` }, /x\.sql:2 .* is a second clock/)
  }
  const fine = "-- now()\n/* now() /* now() */ now() */ select holdfast._now(), 'it is now() or never', x.now_at"
  await refuses(sqlClock, { [file]: fine, 'sql/functions/_now.sql': 'select clock_timestamp()' })
  await refuses(
    sqlClock,
    { 'src/db/x.ts': 'q(`select\n now() + ${x}`) // now()\nnow()' },
    /x\.ts:2 now\( is a second clock/,
  )
})

const fn = (body, { name = 'x', kind = '' } = {}) => ({
  [`sql/functions/${name}.sql`]: `create or replace function holdfast.${name}() returns void\nlanguage plpgsql ${kind} as $$\nbegin\n${body}\nend\n$$;\n`,
})
const table = { 'sql/migrations/0001_x.sql': 'create table holdfast.runs (id uuid);' }
const notNeeded = [/exception for start_runs is not needed/]

test('sql-functions: one function a file, named alike', async () => {
  const [text] = Object.values(fn(''))
  await refuses(sqlFunctions, { 'sql/functions/y.sql': text }, /y\.sql:1 It does not begin with/, ...notNeeded)
  await refuses(sqlFunctions, { 'sql/functions/x.sql': text + text }, /x\.sql:7 A second statement/, ...notNeeded)
})

test('sql-functions: who locks or counts asks for read committed first', async () => {
  const guard = 'perform holdfast._require_read_committed();\n'
  for (const lock of ['for update of r', 'FOR NO KEY UPDATE', 'for key share', 'for share']) {
    const body = `perform 1 from holdfast.runs r ${lock};`
    await refuses(sqlFunctions, fn(body), /x\.sql:4 It locks or counts/, ...notNeeded)
    await refuses(sqlFunctions, fn(`-- ${guard}${body}`), /It locks or counts/, ...notNeeded)
    await refuses(sqlFunctions, fn(guard + body), ...notNeeded)
  }
  await refuses(sqlFunctions, fn('select count(*) into n from holdfast.runs;'), /It locks or counts/, ...notNeeded)
  await refuses(sqlFunctions, fn('select count(*) into n from holdfast.runs;', { kind: 'stable' }), ...notNeeded)
  await refuses(sqlFunctions, fn("raise notice 'waits for update';"), ...notNeeded)
  await refuses(sqlFunctions, fn('perform holdfast._fill();'), /x\.sql:4 It locks or counts/, ...notNeeded)
  await refuses(sqlFunctions, fn('select 1 for update;', { name: '_x' }), ...notNeeded)
})

test('sql-functions: an error has a code of ours', async () => {
  for (const bad of ["raise exception 'x; y';", "raise 'x' using errcode = '22023';", 'raise unique_violation;']) {
    await refuses(sqlFunctions, fn(bad), /x\.sql:4 An error without a code/, ...notNeeded)
  }
  await refuses(
    sqlFunctions,
    fn("raise exception 'x; y'\n using errcode = 'WF001';\nraise;\nraise notice 'x';"),
    ...notNeeded,
  )
})

test('sql-functions: every name of ours stands behind the exact schema that the migrator replaces', async () => {
  const bad = {
    'perform 1 from runs;': /'runs' follows/,
    'update runs set id = null;': /'runs' follows/,
    'perform x();': /'x' follows/,
    'perform add_jobs(y);': /'add_jobs' follows/,
    'y := z::job_spec[];': /'job_spec' follows/,
    'perform 1 from public.runs;': /public\.runs' is not a name/,
    'perform graphile_worker.add_job();': /graphile_worker\.add_job' is not a name/,
    'perform 1 from holdfast_ticket.x;': /holdfast_ticket\.' is not a schema/,
    'perform 1 from "holdfast".runs;': /is not a name/,
  }
  for (const [body, expected] of Object.entries(bad)) {
    await refuses(sqlFunctions, { ...fn(body), ...table }, expected, ...notNeeded)
  }
  const fine = 'with runs as (select 1) select * from runs; perform 1 from holdfast.runs runs where runs.id = x.x(1);'
  await refuses(sqlFunctions, { ...fn(fine), ...table }, ...notNeeded)
})

test('patience: a wait of a test without a timeout', async () => {
  const file = 'test/x.test.ts'
  await refuses(patience, { [file]: 'await vi.waitFor(\n() => f(1, 2))' }, /x\.test\.ts:1 vi\.waitFor gives up/)
  await refuses(patience, { [file]: 'await vi.waitUntil(f)' }, /gives up after a second/)
  await refuses(patience, { [file]: 'await vi.waitFor(f, 15_000)', 'src/x.ts': 'vi.waitFor(f)' })
})

test('clock: new Date() without a time, and Date() with or without', async () => {
  const file = 'src/db/x.ts'
  await refuses(clock, { [file]: 'const a = 1\nconst b = new Date()' }, /x\.ts:2 new Date\(\)/)
  await refuses(clock, { [file]: 'const b = new Date' }, /reads the process's clock/)
  await refuses(clock, { [file]: 'const b = Date(5)' }, /reads the process's clock/)
  await refuses(clock, { [file]: '// new Date()\nconst b = new Date(5)', 'src/model/clock.ts': 'new Date()' })
})

test('words: what we name is named in our words; what others named is theirs', async () => {
  const bad = { jobId: 1, tasks: 1, executionId: 1, checkpoint: 1, partitionKey: 1, activity: 1 }
  for (const name of Object.keys(bad)) {
    await refuses(words, { 'src/client/x.ts': `const y = 1\nconst ${name} = 1` }, new RegExp(`x\\.ts:2 '${name}'`))
  }
  await refuses(words, { 'src/client/x.ts': 'y.jobs(z.task)\nconst { jobId: id } = z\nimport { task as t } from "q"' })
  await refuses(words, { 'src/queue/x.ts': 'const job = 1\nconst taskId = 2' })
  await refuses(words, { 'src/queue/x.ts': 'const checkpoint = 1' }, /checkpoint/)
  await refuses(
    words,
    { 'sql/functions/x.sql': 'select _job_id,\n partition_key' },
    /:1 'job_id'/,
    /:2 'partition_key'/,
  )
  await refuses(words, { 'sql/functions/x.sql': 'select holdfast_queue.jobs, rank() over (partition by x) -- job_id' })
  await refuses(words, { 'docs/x.md': 'a job in a partition\nhas a `jobId`' }, /x\.md:2 'jobId'/)
})

test('leftovers: paths of one machine, unfinished work, tests left out, unreachable registries', async () => {
  const slash = '/'
  await refuses(leftovers, { 'docs/x.md': `a\nsee ${slash}home/ann/x` }, /x\.md:2 '\/home\/ann' is a path/)
  await refuses(leftovers, { 'docs/x.md': `https://x.org${slash}home/ann, \`src${slash}work/x\`, ${slash}work` })
  await refuses(leftovers, { 'src/x.ts': `// ${'TO'}${'DO'} later` }, /is unfinished work/)
  await refuses(leftovers, { 'test/x.test.ts': `test${'.'}only('a', f)` }, /leaves tests out/)
  await refuses(leftovers, { 'test/x.test.ts': `describe.concurrent${'.'}skip('a', f)` }, /leaves tests out/)
  await refuses(leftovers, { 'test/x.test.ts': "test.skipIf(noEngine)('a', f)\nrows.skip(3)" })
  await refuses(leftovers, { 'package-lock.json': '"resolved": "http://10.0.0.1/x.tgz"' }, /names a registry/)
  await refuses(leftovers, { 'package-lock.json': '"resolved": "https://registry.npmjs.org/x.tgz"' })
})

test('file-length: 250 lines and no more, and no exception that is not needed', async () => {
  const lines = (count) => 'x\n'.repeat(count)
  const long = { 'src/model/errors.ts': lines(251) }
  await refuses(fileLength, { ...long, 'src/a.ts': lines(250), 'test/b.ts': lines(300) })
  await refuses(fileLength, { ...long, 'sql/a.sql': lines(251) }, /a\.sql:251 251 lines/)
  await refuses(fileLength, { 'src/model/errors.ts': lines(9) }, /exception is not needed/)
})
