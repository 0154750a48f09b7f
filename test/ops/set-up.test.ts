import { expect, test } from 'vitest'
import {
  ClosedError,
  ConfigError,
  createClient,
  createWorker,
  defineWorkflow,
  DurationError,
  SchemaMissingError,
  type WorkerOptions,
} from '../../src/index.ts'
import { emptyDatabase, useDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'

const database = useDatabase()

const hello = defineWorkflow({ name: 'hello', handler: () => 'hello' })
const namesake = defineWorkflow({ name: 'hello', handler: () => 'another' })

/** Nobody listens there: what is refused at once has not asked. */
const connectionString = 'postgres://nobody@127.0.0.1:1/nowhere'

function thrownBy(create: () => unknown): unknown {
  try {
    create()
  } catch (error) {
    return error
  }
  return undefined
}

interface Case {
  readonly what: string
  readonly options: object | undefined
  readonly field: string
  readonly says: string
}

const forBoth: readonly Case[] = [
  { what: 'no database', options: {}, field: 'connectionString', says: 'DATABASE_URL' },
  { what: 'an empty address', options: { connectionString: '' }, field: 'connectionString', says: 'postgres://' },
  {
    what: 'an unknown option',
    options: { connectonString: connectionString },
    field: 'connectonString',
    says: 'connectionString',
  },
  {
    what: 'an address and a pool',
    options: { connectionString, pool: database.pool },
    field: 'connectionString',
    says: 'one of them',
  },
  { what: 'a pool that is none', options: { pool: { connect: 1 } }, field: 'pool', says: 'pg Pool' },
  { what: "the database's own schema", options: { connectionString, schema: 'pg_mine' }, field: 'schema', says: 'pg_' },
  {
    what: 'an unknown mode',
    options: { connectionString, migrate: 'yes' },
    field: 'migrate',
    says: 'auto, verify, off',
  },
  {
    what: 'a logger that is none',
    options: { connectionString, logger: {} },
    field: 'logger',
    says: 'debug, info, warn and error',
  },
  {
    what: 'an address of something else',
    options: { connectionString: 'https://example.org/db' },
    field: 'connectionString',
    says: 'postgres://',
  },
  {
    what: 'an address without a scheme',
    options: { connectionString: 'localhost:5432/db' },
    field: 'connectionString',
    says: 'postgres://',
  },
  {
    what: 'an address that cannot be read',
    options: { connectionString: 'postgres://h:none/db' },
    field: 'connectionString',
    says: 'postgres://',
  },
  { what: 'options that are none', options: 'postgres://h/db' as never, field: 'options', says: 'an object' },
]

const forWorkers: readonly Case[] = [
  { what: 'no options', options: undefined, field: 'options', says: 'an object' },
  { what: 'no workflows', options: { workflows: [] }, field: 'workflows', says: 'at least one workflow' },
  {
    what: 'no list of workflows',
    options: { workflows: undefined },
    field: 'workflows',
    says: 'at least one workflow',
  },
  { what: 'a workflow twice', options: { workflows: [hello, hello] }, field: 'workflows[1]', says: "'hello'" },
  {
    what: 'two workflows of one name',
    options: { workflows: [hello, namesake] },
    field: 'workflows[1]',
    says: "'hello'",
  },
  {
    what: 'a workflow that is none',
    options: { workflows: [hello, {}] },
    field: 'workflows[1]',
    says: 'defineWorkflow',
  },
  { what: 'no slot', options: { concurrency: 0 }, field: 'concurrency', says: 'whole number' },
  { what: 'half a slot', options: { concurrency: 0.5 }, field: 'concurrency', says: 'whole number' },
  { what: 'slots as a text', options: { concurrency: '4' }, field: 'concurrency', says: 'whole number' },
  { what: 'a misspelt option', options: { concurency: 4 }, field: 'concurency', says: 'concurrency' },
  {
    what: 'a client and an address',
    options: { client: createClient({ connectionString }) },
    field: 'connectionString',
    says: 'client',
  },
  {
    what: 'a client that is none',
    options: { client: {}, connectionString: undefined },
    field: 'client',
    says: 'createClient',
  },
]

test.each(forBoth)(
  'OPS-07: createClient and createWorker refuse $what at once, and say what to give',
  ({ options, field, says }) => {
    const isObject = typeof options === 'object'
    const forWorker = isObject ? { workflows: [hello], ...options } : options
    for (const create of [() => createClient(options), () => createWorker(forWorker as WorkerOptions)]) {
      const error = thrownBy(create)
      expect(error).toBeInstanceOf(ConfigError)
      expect(error).toMatchObject({ code: 'CONFIG', field, remedy: expect.stringContaining(says) as string })
    }
  },
)

test.each(forWorkers)(
  'OPS-07: createWorker refuses $what at once, and says what to give',
  ({ options, field, says }) => {
    const given = options && { workflows: [hello], connectionString, ...options }
    const error = thrownBy(() => createWorker(given as unknown as WorkerOptions))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({ code: 'CONFIG', field, message: expect.stringContaining(says) as string })
  },
)

test('OPS-07: createWorker refuses a grace that is no duration', () => {
  const error = thrownBy(() => createWorker({ workflows: [hello], connectionString, grace: 'a while' }))
  expect(error).toBeInstanceOf(DurationError)
  expect(error).toMatchObject({ code: 'DURATION', field: 'grace' })
})

test('OPS-07: a worker that shares a client treats the schema as that client was told to', async () => {
  const empty = await emptyDatabase()
  const client = createClient({ ...optionsFor(empty), migrate: 'verify' })
  const worker = createWorker({ workflows: [hello], client })
  try {
    await expect(worker.start()).rejects.toThrow(SchemaMissingError)
    expect((await empty.query(`select from pg_namespace where nspname like 'holdfast%'`)).rowCount).toBe(0)
  } finally {
    await worker.stop()
    await client.close()
    await empty.drop()
  }
})

test('OPS-07: a worker that was stopped is not started again, and a client that was closed starts nothing', async () => {
  const client = createClient({ ...optionsFor(database), migrate: 'off' })
  const worker = createWorker({ workflows: [hello], client })
  await worker.stop()
  await worker.done
  await expect(worker.start()).rejects.toThrow(ClosedError)
  await client.close()
  for (const call of [() => client.start(hello), () => client.list(), () => client.get(crypto.randomUUID())]) {
    await expect(call()).rejects.toThrow(ClosedError)
  }
})
