import { beforeAll, expect, test } from 'vitest'
import { createClient, defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { optionsFor } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { jsonOf, runCli } from './run-cli.ts'

const database = useDatabase()

const hello = defineWorkflow({
  name: 'hello',
  priority: 3,
  maxAttempts: 4,
  group: () => 'never asked',
  handler: (input) => input,
})

interface StartedJson {
  readonly id: string
  readonly created: boolean
  readonly state: string
}

const environment = { DATABASE_URL: database.connectionString }

// A name is on record once a client or a worker has used it.
beforeAll(async () => {
  const client = createClient({ ...optionsFor(database), migrate: 'off' })
  await client.start(hello)
  await client.close()
})

test('start starts a run by the name of its workflow, under its policy, and says which', async () => {
  const { code, stdout, stderr } = await runCli(['start', 'hello'], environment)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [, id] = /^([0-9a-f-]{36}) started, waiting\n$/.exec(stdout) ?? []
  expect(await openClient(database).get(id as string)).toMatchObject({
    workflow: 'hello',
    priority: 3,
    maxAttempts: 4,
    input: null,
  })
})

test('start stores what each of its options says', async () => {
  const client = openClient(database)
  const id = newId()
  const input = {
    email: "o'hara@example.org",
    n: [1, -0.5, null, true],
    text: '\u0000 \ud800 “x” \\ \n',
    proto: { __proto__: 1 },
  }
  const json = JSON.stringify(input).replace('"proto":{}', '"proto":{"__proto__":1}')
  const options = {
    '--input': json,
    '--key': "key'; drop table holdfast.runs; -- $1",
    '--group': 'group "one"',
    '--id': id,
    '--at': '2031-02-03T04:05:06.789Z',
    '--priority': '-32768',
    '--max-attempts': '7',
  }
  const metadata = ['--metadata', 'from=the shell', '--metadata', 'empty=', '--metadata', 'sum=a=b']
  const args = ['start', 'hello', ...Object.entries(options).flat(), ...metadata]
  expect(await jsonOf<StartedJson>(args, environment)).toEqual({ id, created: true, state: 'scheduled' })
  expect(await client.get(id)).toMatchObject({
    workflow: 'hello',
    state: 'scheduled',
    input: JSON.parse(json) as unknown,
    key: options['--key'],
    group: options['--group'],
    dueAt: new Date(options['--at']),
    priority: -32_768,
    maxAttempts: 7,
    metadata: { from: 'the shell', empty: '', sum: 'a=b' },
  })
  // The same again is the same run.
  expect(await runCli(args, environment)).toMatchObject({
    code: 0,
    stdout: `${id} was there already, scheduled\n`,
  })
})

test('start --delay counts by the clock of the database', async () => {
  const { id } = await jsonOf<StartedJson>(['start', 'hello', '--delay', '1h30m'], environment)
  const { rows } = await database.query(
    `select from holdfast.runs where id = $1 and due_at = created_at + interval '90 minutes' and state = 'scheduled'`,
    [id],
  )
  expect(rows).toHaveLength(1)
})

test('a worker runs what start started', async () => {
  const { id } = await jsonOf<StartedJson>(['start', 'hello', '--input', '"from the shell"'], environment)
  await startWorker(database, { workflows: [hello] })
  expect(await openClient(database).result(id)).toBe('from the shell')
})

test('start of a workflow that nobody knows ends with 1 and writes nothing', async () => {
  const hostile = "hello'; drop table holdfast.runs; --"
  const before = await database.query('select from holdfast.runs')
  for (const name of ['helo', hostile]) {
    const { code, stdout, stderr } = await runCli(['start', name], environment)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^error: No workflow ".*" is on record\. .* \[UNKNOWN_WORKFLOW\]\n$/)
    expect(stderr).toContain(name)
  }
  expect((await database.query('select from holdfast.runs')).rowCount).toBe(before.rowCount)
})
