import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, HoldfastError, type Client, type ErrorCode, type StartOptions } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { openClient } from '../support/worker.ts'

const database = useDatabase()

const echo = defineWorkflow({ name: 'echo', input: z.unknown(), handler: (input) => input })

interface Refusal {
  readonly what: string
  readonly code: ErrorCode
  readonly field: string
}

interface BadStart extends Refusal {
  readonly input?: unknown
  readonly options?: object
}

const lone = '\uD800'

const badOptions: readonly BadStart[] = [
  { what: 'an unknown option', options: { prio: 1 }, code: 'ARGUMENT', field: 'prio' },
  { what: 'options that are none', options: 'soon' as never, code: 'ARGUMENT', field: 'options' },
  { what: 'an empty key', options: { key: '' }, code: 'ARGUMENT', field: 'key' },
  { what: 'a key that is a number', options: { key: 7 }, code: 'ARGUMENT', field: 'key' },
  { what: 'a key of 513 characters', options: { key: 'k'.repeat(513) }, code: 'ARGUMENT', field: 'key' },
  { what: 'a key with U+0000', options: { key: 'a\0b' }, code: 'ARGUMENT', field: 'key' },
  { what: 'a key with half a surrogate pair', options: { key: lone }, code: 'ARGUMENT', field: 'key' },
  { what: 'an id that is no UUID', options: { id: "1' or '1'='1" }, code: 'ARGUMENT', field: 'id' },
  { what: 'a time that is none', options: { at: new Date(NaN) }, code: 'ARGUMENT', field: 'at' },
  { what: 'a time as a text', options: { at: '2030-01-01' }, code: 'ARGUMENT', field: 'at' },
  { what: 'a time and a delay', options: { at: new Date(), delay: 1 }, code: 'ARGUMENT', field: 'delay' },
  ...[NaN, Infinity, -1, 1e20, '5x', 'soon', '', '-1s', '1h 30', null].map((delay): BadStart => ({
    what: `a delay of ${typeof delay} '${delay}'`,
    options: { delay },
    code: 'DURATION',
    field: 'delay',
  })),
  { what: 'a priority out of range', options: { priority: 32_768 }, code: 'ARGUMENT', field: 'priority' },
  { what: 'half a priority', options: { priority: 0.5 }, code: 'ARGUMENT', field: 'priority' },
  { what: 'no attempts', options: { maxAttempts: 0 }, code: 'ARGUMENT', field: 'maxAttempts' },
  { what: 'metadata of numbers', options: { metadata: { n: 1 } }, code: 'ARGUMENT', field: 'metadata.n' },
  { what: 'metadata with U+0000', options: { metadata: { n: '\0' } }, code: 'ARGUMENT', field: 'metadata.n' },
  { what: 'a transaction that is none', options: { tx: {} }, code: 'ARGUMENT', field: 'tx' },
]

const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic

const badInputs: readonly BadStart[] = [
  { what: 'more than 1 MiB', input: 'x'.repeat(1_048_577), code: 'PAYLOAD_TOO_LARGE', field: 'input' },
  { what: 'more than 1 MiB as UTF-8', input: '€'.repeat(350_000), code: 'PAYLOAD_TOO_LARGE', field: 'input' },
  { what: 'a function', input: { on: { done: () => 1 } }, code: 'UNSERIALIZABLE', field: 'input.on.done' },
  { what: 'a symbol', input: [Symbol('odd')], code: 'UNSERIALIZABLE', field: 'input[0]' },
  { what: 'a cycle', input: cyclic, code: 'UNSERIALIZABLE', field: 'input.self' },
  { what: 'an instance of a class', input: { at: new (class Money {})() }, code: 'UNSERIALIZABLE', field: 'input.at' },
]

/** Everything that a call may write. */
async function rowCounts(): Promise<unknown> {
  const tables = [
    'holdfast.runs',
    'holdfast.keys',
    'holdfast.definitions',
    'holdfast.claims',
    'holdfast_queue._private_jobs',
  ]
  const counts = tables.map((table) => `(select count(*) from ${table})`)
  return (await database.query(`select array[${counts.join(', ')}] as counts`)).rows[0]
}

/** Expects that the call is refused with a typed error that says what is wrong and what to do, and writes nothing. */
async function expectRefused(call: () => Promise<unknown>, { code, field }: Refusal): Promise<void> {
  const before = await rowCounts()
  const error = await call().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HoldfastError)
  expect(error).toMatchObject({ code, field, remedy: expect.stringMatching(/\w/) as string })
  expect(await rowCounts()).toEqual(before)
}

test.each(badOptions)('start refuses $what and writes nothing', async ({ options, ...refusal }) => {
  await expectRefused(() => openClient(database).start(echo, 1, options as StartOptions), refusal)
})

test.each(badInputs)('start refuses an input of $what and writes nothing', async ({ input, ...refusal }) => {
  await expectRefused(() => openClient(database).start(echo, input), refusal)
})

test('start takes an input of just 1 MiB', async () => {
  const client = openClient(database)
  const { id } = await client.start(echo, 'x'.repeat(1_048_574))
  expect((await client.get(id))?.input).toHaveLength(1_048_574)
})

test.each([
  ['nothing', undefined],
  ['a name', 'echo'],
  ['what looks like one', { name: 'echo', definition: {} }],
])('start refuses %s in place of a workflow', async (_, workflow) => {
  await expectRefused(() => openClient(database).start(workflow as never), {
    what: '',
    code: 'ARGUMENT',
    field: 'workflow',
  })
})

test.each([
  ['a number', () => 7],
  ['an empty text', () => ''],
  ['U+0000', () => 'a\0b'],
  ['513 characters', () => 'g'.repeat(513)],
])('start refuses a group of %s', async (_, group) => {
  const grouped = defineWorkflow({ name: 'grouped', group: group as () => string, handler: () => undefined })
  await expectRefused(() => openClient(database).start(grouped), { what: '', code: 'ARGUMENT', field: 'group' })
})

interface BadCall extends Refusal {
  readonly call: (client: Client) => Promise<unknown>
}

const badCalls: readonly BadCall[] = [
  { what: 'get of a text that is no id', call: (client) => client.get('nobody'), code: 'ARGUMENT', field: 'run' },
  { what: 'get of nothing', call: (client) => client.get(undefined as never), code: 'ARGUMENT', field: 'run' },
  {
    what: 'get by a key with U+0000',
    call: (client) => client.get({ workflow: 'echo', key: 'a\0b' }),
    code: 'ARGUMENT',
    field: 'run.key',
  },
  {
    what: 'get by a key that is none',
    call: (client) => client.get({ workflow: 'echo', key: 7 as never }),
    code: 'ARGUMENT',
    field: 'run',
  },
  {
    what: 'get of a workflow with U+0000',
    call: (client) => client.get({ workflow: '\0', key: 'k' }),
    code: 'ARGUMENT',
    field: 'run.workflow',
  },
  { what: 'result of no run', call: (client) => client.result(newId()), code: 'NOT_FOUND', field: 'run' },
  {
    what: 'result within no duration',
    call: (client) => client.result(newId(), { timeout: 'soon' }),
    code: 'DURATION',
    field: 'timeout',
  },
  { what: 'cancel of no run', call: (client) => client.cancel(newId()), code: 'NOT_FOUND', field: 'run' },
  {
    what: 'retry of no run',
    call: (client) => client.retry({ workflow: echo, key: 'none' }),
    code: 'NOT_FOUND',
    field: 'run',
  },
  {
    what: 'list of an unknown state',
    call: (client) => client.list({ state: 'ready' as never }),
    code: 'ARGUMENT',
    field: 'state',
  },
  { what: 'list of no runs', call: (client) => client.list({ limit: 0 }), code: 'ARGUMENT', field: 'limit' },
  { what: 'list of too many', call: (client) => client.list({ limit: 1_001 }), code: 'ARGUMENT', field: 'limit' },
  {
    what: 'list of a workflow with U+0000',
    call: (client) => client.list({ workflow: 'a\0' }),
    code: 'ARGUMENT',
    field: 'workflow',
  },
  {
    what: 'list by an unknown filter',
    call: (client) => client.list({ status: 'done' } as never),
    code: 'ARGUMENT',
    field: 'status',
  },
  {
    what: 'result with an unknown option',
    call: (client) => client.result(newId(), { timeoutMs: 1 } as never),
    code: 'ARGUMENT',
    field: 'timeoutMs',
  },
  {
    what: 'cancel with an unknown option',
    call: (client) => client.cancel(newId(), { because: 'so' } as never),
    code: 'ARGUMENT',
    field: 'because',
  },
]

test.each(badCalls)('$what is refused', async ({ call, ...refusal }) => {
  await expectRefused(() => call(openClient(database)), refusal)
})

test('a retry of a run that has not ended is refused and changes nothing', async () => {
  const client = openClient(database)
  const { id } = await client.start(echo, 1)
  await expectRefused(() => client.retry(id), { what: '', code: 'INVALID_STATE', field: 'run' })
  expect(await client.get(id)).toMatchObject({ state: 'waiting' })
})

test('a text that would be SQL is data', async () => {
  const client = openClient(database)
  const hostile = `'; drop table holdfast.runs; -- $1 \\ " %s`
  const { id } = await client.start(echo, hostile, { key: hostile, metadata: { [hostile]: hostile } })
  expect(await client.get({ workflow: echo, key: hostile })).toMatchObject({
    id,
    key: hostile,
    input: hostile,
    metadata: { [hostile]: hostile },
  })
  expect((await client.list({ workflow: hostile })).items).toEqual([])
  expect(await client.cancel(id, { reason: hostile })).toMatchObject({ state: 'cancelled', reason: hostile })
})
