import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, type RunView } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { bin, jsonOf, runCli, schemaArgs } from './run-cli.ts'

const database = useDatabase()

const environment = { DATABASE_URL: database.connectionString }

const echo = defineWorkflow({ name: 'echo', input: z.unknown(), handler: (input) => input })
const failing = defineWorkflow({ name: 'failing', handler: (_, run) => run.fail('two\nlines \u001b[31m') })

type RunJson = Omit<RunView, 'lastError'> & { readonly lastError?: string }

/** What JSON alone would lose, and how it is shown. */
const rich = {
  big: 12345678901234567890n,
  at: new Date('2030-01-02T03:04:05.678Z'),
  map: new Map<string, unknown>([['a', 1n]]),
  set: new Set(['x']),
  not: NaN,
  error: new TypeError('as it is'),
  pattern: /a+/g,
  bytes: Uint8Array.of(1, 2),
  link: new URL('https://example.org/'),
}

const shown = {
  big: '12345678901234567890n',
  at: '2030-01-02T03:04:05.678Z',
  map: { a: '1n' },
  set: ['x'],
  not: 'NaN',
  error: 'TypeError: as it is',
  pattern: '/a+/g',
  bytes: [1, 2],
  link: 'https://example.org/',
}

let done: string
let failed: string

beforeAll(async () => {
  const client = openClient(database)
  const worker = await startWorker(database, { workflows: [echo, failing] })
  const started = await client.start(echo, rich, { key: 'rich', metadata: { by: 'test' } })
  done = started.id
  await client.result(started)
  failed = (await client.start(failing)).id
  await client.result(failed).catch(() => undefined)
  await worker.stop()
})

test('show --json --payloads is JSON, whatever the run holds', async () => {
  const run = await jsonOf<RunJson>(['show', done, '--payloads'], environment)
  expect(run).toMatchObject({
    id: done,
    workflow: 'echo',
    key: 'rich',
    state: 'done',
    attempt: 1,
    maxAttempts: 10,
    metadata: { by: 'test' },
    input: shown,
    output: shown,
  })
  const view = await openClient(database).get(done)
  expect(new Date(run.createdAt)).toEqual(view?.createdAt)
  expect(new Date(run.endedAt as Date)).toEqual(view?.endedAt)
  const discreet = await jsonOf<RunJson>(['show', done], environment)
  expect(discreet).not.toHaveProperty('input')
  expect(discreet).not.toHaveProperty('output')
})

test('show shows one field a line, and lets no text of the run reach the terminal as it is', async () => {
  const { code, stdout } = await runCli(['show', done, '--payloads'], environment)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^state {8}done$/m)
  expect(stdout).toMatch(/^createdAt {4}\d{4}-\d\d-\d\dT[\d:.]+Z$/m)
  expect(stdout).toContain(`output       ${JSON.stringify(shown)}\n`)

  const ofFailed = await runCli(['show', failed], environment)
  expect(ofFailed.stdout).toMatch(/^failure {6}rejected$/m)
  expect(ofFailed.stdout).toMatch(/^reason {7}two\\u000alines \\u001b\[31m$/m)
})

test('show lists the claims of a run, and where the trace of each can be looked at', async () => {
  const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  await database.query('update holdfast.runs set claim_trace = $2 where id = $1', [failed, trace])
  const plain = await runCli(['show', failed], environment)
  expect(plain.stdout).toMatch(/^claim +attempt +began +ms +outcome +trace +why$/m)
  expect(plain.stdout).toMatch(/^1 +1 +\S+Z +\d+ +failed +4bf92f3577b34da6a3ce929d0e0e4736 +two\\u000alines/m)
  const HOLDFAST_TRACE_URL = 'https://traces.example/{traceId}#{spanId}'
  const linked = await runCli(['show', failed], { ...environment, HOLDFAST_TRACE_URL })
  expect(linked.stdout).toContain(' https://traces.example/4bf92f3577b34da6a3ce929d0e0e4736#00f067aa0ba902b7 ')
  const { claims } = await jsonOf<RunJson>(['show', failed, '--trace-url', 'http://x/{traceId}'], environment)
  expect(claims).toMatchObject([{ token: 1, outcome: 'failed', traceUrl: 'http://x/4bf92f3577b34da6a3ce929d0e0e4736' }])
  const refused = await runCli(['show', failed, '--trace-url', 'http://x/'], environment)
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect((await runCli(['show', done], environment)).stdout).toMatch(/^1 +1 +\S+Z +\d+ +done +-$/m)
})

test('show, cancel and retry of a run that is not there end with 1', async () => {
  const results = ['show', 'cancel', 'retry'].map((command) => runCli([command, newId()], environment))
  for (const { code, stdout, stderr } of await Promise.all(results)) {
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^error: There is no run .* \[NOT_FOUND\]\n$/)
  }
})

test('cancel ends a run and keeps the reason, and retry brings it back', async () => {
  const { id } = await openClient(database).start(echo, 1)
  const reason = `not "now"; $1 -- \\`
  const cancelled = await jsonOf<RunJson>(['cancel', id, '--reason', reason], environment)
  expect(cancelled).toMatchObject({ id, state: 'cancelled', reason })
  const { code, stdout } = await runCli(['retry', id], environment)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^state {8}waiting$/m)
  const again = await runCli(['retry', id], environment)
  expect(again.code).toBe(1)
  expect(again.stderr).toContain('[INVALID_STATE]')
})

test('list shows one run a line, newest first, and picks by workflow and state', async () => {
  const all = await jsonOf<RunJson[]>(['list'], environment)
  expect(all.map(({ id }) => id)).toEqual(
    all
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  )
  const [ofState, ofWorkflow, ofNone, limited] = await Promise.all([
    runCli(['list', '--state', 'failed'], environment),
    jsonOf<RunJson[]>(['list', '--workflow', 'echo', '--payloads', '--state', 'done'], environment),
    runCli(['list', '--workflow', "echo' or '1'='1"], environment),
    runCli(['list', '--limit', '1'], environment),
  ])
  expect(ofState.stdout).toMatch(
    new RegExp(`^${failed} +failing +failed +1/10 +\\S+Z +- +rejected: two\\\\u000alines \\\\u001b\\[31m\\n$`),
  )
  expect(ofWorkflow).toMatchObject([{ id: done, input: shown }])
  expect(ofNone).toMatchObject({ code: 0, stdout: '', stderr: 'No run fits.\n' })
  expect(limited.stdout.split('\n')).toHaveLength(2)
})

const schemaFlags = schemaArgs.map((arg) => `'${arg}'`).join(' ')

/** What the pipeline shows, then how the command at its head ended. */
async function shell(pipeline: string): Promise<string> {
  const { stdout } = await promisify(exec)(`'${process.execPath}' '${bin}' ${pipeline}; echo " \${PIPESTATUS[0]}"`, {
    shell: 'bash',
    env: { ...process.env, ...environment },
  })
  return stdout
}

test('a reader that has enough is no error', async () => {
  const client = openClient(database)
  await Promise.all(Array.from({ length: 200 }, () => client.start(echo, 'x'.repeat(1_000))))
  expect(await shell(`list --limit 1000 --payloads --json ${schemaFlags} 2>&1 | head -c 1`)).toBe('[ 0\n')
  expect(await shell('--help 2>&1 | true')).toBe(' 0\n')
  expect(await shell('strat 2>&1 | true')).toBe(' 2\n')
})

test.skipIf(process.platform !== 'linux')(
  'output that cannot be written is an error (to /dev/full of Linux)',
  async () => {
    const output = await shell(`list ${schemaFlags} 2>&1 > /dev/full`)
    expect(output).toContain('ENOSPC')
    expect(output).toMatch(/ 1\n$/)
  },
)
