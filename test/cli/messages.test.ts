import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, type Client, type RunRef, type Why } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { jsonOf, runCli, type Result } from './run-cli.ts'

const database = useDatabase()
const environment = { DATABASE_URL: database.connectionString }

/** What a shell, SQL or a terminal might take for something else. */
const odd = `it's "odd"; $1 -- \\ {} \u00e9`

const listen = defineWorkflow({
  name: 'listen',
  handler: async (_, run) => [await run.waitFor('word'), await run.waitFor('word', { timeout: '1h' })],
})
const oddly = defineWorkflow({ name: 'oddly', handler: async (_, run) => await run.waitFor(`${odd} word`) })
const schema = z.object({ isAllowed: z.boolean() })
const ask = defineWorkflow({
  name: 'ask',
  handler: async (_, run) => await run.park('approval', { reason: 'Two\nlines \u001b[31m?', schema, timeout: '7d' }),
})
const askTwice = defineWorkflow({
  name: 'ask twice',
  handler: async (_, run) => {
    const both = ['pay', 'ship'].map((name) => run.park(name, { reason: `May we ${name}?`, schema }))
    return await Promise.all(both)
  },
})
const nap = defineWorkflow({
  name: 'nap',
  handler: async (_, run) => await Promise.race([run.sleep('a long one', '400d'), run.call(listen)]),
})

beforeEach(() => startWorker(database, { workflows: [listen, oddly, ask, askTwice, nap] }))

async function suspended(client: Client, run: RunRef): Promise<void> {
  for await (const { state } of client.watch(run)) if (state === 'suspended') return
}

function expectRefused(result: Result, code: number, text: string): void {
  expect({ code: result.code, stdout: result.stdout }).toEqual({ code, stdout: '' })
  expect(result.stderr).toContain(text)
}

test('signal sends what it is given, whatever its text holds, once for each id', async () => {
  const client = openClient(database)
  const started = await client.start(listen)
  const payload = { [odd]: [odd, null, 1.5] }
  for (let times = 0; times < 2; times++) {
    const args = ['signal', started.id, 'word', '--payload', JSON.stringify(payload), '--id', odd]
    expect(await runCli(args, environment)).toMatchObject({
      code: 0,
      stdout: `word sent to ${started.id}\n`,
      stderr: '',
    })
  }
  expect(await runCli(['signal', started.id, 'word'], environment)).toMatchObject({ code: 0 })
  expect(await client.result(started)).toEqual([payload, null])

  const named = await client.start(oddly)
  expect(await runCli(['signal', named.id, `${odd} word`, '--payload', '7'], environment)).toMatchObject({ code: 0 })
  expect(await client.result(named)).toBe(7)
})

test('a payload or an answer that is no JSON, and names that cannot be, are wrong usage, and nothing is sent', async () => {
  const client = openClient(database)
  const started = await client.start(listen)
  const parked = await client.start(ask)
  await suspended(client, parked)
  const texts = ['{', '', "{'a':1}", 'undefined', '$1', 'NaN']
  for (const [flag, ...args] of [
    ['--payload', 'signal', started.id, 'word'],
    ['--answer', 'unpark', parked.id],
  ] as const) {
    const results = await Promise.all(texts.map((text) => runCli([...args, flag, text], environment)))
    for (const result of results) expectRefused(result, 2, `error: The value of ${flag} is not JSON.`)
  }
  const names = ['', 'a/b', 'a#2', '[park]', 'x'.repeat(201)]
  const results = await Promise.all(names.map((name) => runCli(['signal', started.id, name], environment)))
  for (const result of results) expectRefused(result, 2, '[ARGUMENT]')
  expectRefused(await runCli(['signal', started.id, 'word', '--id', ''], environment), 2, '[ARGUMENT]')
  expectRefused(await runCli(['signal', `${started.id}'`, 'word'], environment), 2, '[ARGUMENT]')
  expectRefused(await runCli(['signal', started.id], environment), 2, "missing required argument 'signal'")
  expectRefused(await runCli(['unpark', parked.id], environment), 2, "required option '--answer <json>'")
  await client.signal(started, 'word', 'a')
  await client.signal(started, 'word', 'b')
  expect(await client.result(started)).toEqual(['a', 'b'])
  expect(await client.get(parked)).toMatchObject({ state: 'suspended' })
})

test('U+0000 and lone surrogates in a payload arrive as they were sent', async () => {
  const client = openClient(database)
  const started = await client.start(listen)
  const text = String.raw`"a\u0000b\ud800"`
  for (let times = 0; times < 2; times++) {
    expect(await runCli(['signal', started.id, 'word', '--payload', text], environment)).toMatchObject({ code: 0 })
  }
  expect(await client.result(started)).toEqual(['a\0b\ud800', 'a\0b\ud800'])
})

test('a signal to a run that has ended ends with 1', async () => {
  const client = openClient(database)
  const started = await client.start(listen)
  await client.cancel(started)
  expectRefused(await runCli(['signal', started.id, 'word'], environment), 1, '[RUN_ENDED]')
})

test('parked lists who waits for a person and for what, and unpark answers', async () => {
  const client = openClient(database)
  const started = await client.start(ask, undefined, { key: 'k' })
  await suspended(client, started)
  const listed = await runCli(['parked', '--workflow', 'ask'], environment)
  const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`
  expect(listed.stdout).toMatch(
    new RegExp(
      String.raw`^${started.id}  ask  approval  since ${time}, until ${time}  Two\\u000alines \\u001b\[31m\?$`,
      'm',
    ),
  )
  const json = await jsonOf<{ run: string }[]>(['parked', '--workflow', 'ask'], environment)
  expect(json.find(({ run }) => run === started.id)).toMatchObject({
    key: 'k',
    workflow: 'ask',
    step: 'approval',
    reason: 'Two\nlines \u001b[31m?',
  })

  expect(await runCli(['unpark', started.id, '--answer', '{"isAllowed":"yes"}'], environment)).toMatchObject({
    code: 0,
  })
  await expect
    .poll(async () => (await client.parked({ workflow: 'ask' })).find(({ run }) => run === started.id)?.reason)
    .toMatch(/^Two\nlines .*isAllowed/)
  const answered = await runCli(['unpark', started.id, '--answer', '{"isAllowed":true}', '--by', odd], environment)
  expect(answered).toMatchObject({ code: 0, stdout: `${started.id} answered by ${odd}\n`, stderr: '' })
  expect(await client.result(started)).toEqual({ isAllowed: true })
  expectRefused(await runCli(['unpark', started.id, '--answer', '1'], environment), 1, '[INVALID_STATE]')
  expectRefused(await runCli(['unpark', newId(), '--answer', '1'], environment), 1, '[NOT_FOUND]')
})

test('unpark of a run that is parked at several steps wants to be told which', async () => {
  const client = openClient(database)
  const started = await client.start(askTwice)
  await suspended(client, started)
  const answer = ['--answer', '{"isAllowed":true}']
  expectRefused(await runCli(['unpark', started.id, ...answer], environment), 2, 'is parked at pay and ship')
  expectRefused(await runCli(['unpark', started.id, ...answer, '--step', odd], environment), 1, '[INVALID_STATE]')
  for (const step of ['pay', 'ship']) {
    expect(await runCli(['unpark', started.id, ...answer, '--step', step], environment)).toMatchObject({ code: 0 })
  }
  expect(await client.result(started)).toEqual([{ isAllowed: true }, { isAllowed: true }])
})

test('parked says so where nobody waits, and takes any text for a workflow', async () => {
  for (const name of ['nobody', odd, `ask' or '1'='1`]) {
    expect(await runCli(['parked', '--workflow', name], environment)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No run waits for a person.\n',
    })
  }
  expect(await jsonOf(['parked', '--workflow', odd], environment)).toEqual([])
})

test('why says what a suspended run waits for: a time, a signal, another run, a person', async () => {
  const client = openClient(database)
  const [sleeping, asking] = [await client.start(nap), await client.start(ask)]
  await suspended(client, sleeping)
  await suspended(client, asking)
  const why = await jsonOf<Why>(['why', sleeping.id], environment)
  const [reason] = why.reasons
  if (reason?.kind !== 'suspended') throw new Error(`It is held back by ${reason?.kind}.`)
  expect(reason.waits).toMatchObject([{ kind: 'sleep', step: 'a long one' }, { kind: 'call' }])
  const child = reason.waits[1]?.child ?? ''

  const said = await runCli(['why', sleeping.id], environment)
  expect(said.stdout).toMatch(/^\S+ nap: suspended\nIt sleeps at "a long one" until \S+Z\.\nIt has waited /)
  expect(said.stdout).toContain(`for the end of run ${child}.\n`)
  await suspended(client, { id: child })
  expect((await runCli(['why', child], environment)).stdout).toMatch(
    /^\S+ listen: suspended\nIt has waited \S+ s for the signal "word"\.\n$/,
  )
  expect((await runCli(['why', asking.id], environment)).stdout).toMatch(
    /^\S+ ask: suspended\nIt has waited \S+ s until \S+Z for a person, at "approval": Two\\u000alines \\u001b\[31m\?\. Answer it: workflow unpark\.\n$/,
  )
})
