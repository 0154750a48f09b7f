import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  createClient,
  createWorker,
  defineWorkflow,
  HoldfastError,
  migrate,
  type ClientOptions,
  type ErrorCode,
  type MigrateMode,
} from '../../src/index.ts'
import { createDatabase, emptyDatabase, useDatabase, type TestDatabase } from '../support/database.ts'
import { names, optionsFor, variant } from '../support/variant.ts'
import { OldServer } from './old-server.ts'

const database = useDatabase()

const hello = defineWorkflow({ name: 'hello', handler: () => 'hello' })

interface Refusal {
  readonly code: ErrorCode
  readonly field?: string
  /** In the message, which ends with the remedy. */
  readonly says: string | RegExp
}

/** What asks the database first. Each of them has to be refused. */
const ways: Record<string, (options: ClientOptions) => Promise<void>> = {
  'a client': async (options) => {
    const client = createClient(options)
    try {
      await client.start(hello)
    } finally {
      await client.close()
    }
  },
  'a worker': async (options) => {
    const worker = createWorker({ ...options, workflows: [hello] })
    try {
      await worker.start()
    } finally {
      await worker.stop()
    }
  },
  'a migration': async ({ migrate: _, ...options }) => void (await migrate(options)),
}

async function expectRefused(
  options: ClientOptions,
  refusal: Refusal,
  by: readonly string[] = Object.keys(ways),
): Promise<void> {
  const { code, field, says } = refusal
  for (const way of by) {
    const error = await ways[way]?.({ ...options, schema: variant.schema }).catch((thrown: unknown) => thrown)
    const message = expect.stringMatching(says) as string
    expect({ way, error }).toMatchObject({ way, error: { code, field, remedy: expect.stringMatching(/\w/) as string } })
    expect(error).toBeInstanceOf(HoldfastError)
    expect((error as Error).message).toEqual(message)
  }
}

function urlOf({ connectionString }: TestDatabase, change: (url: URL) => void): string {
  const url = new URL(connectionString)
  change(url)
  return url.href
}

/** Schemas, and the rows of the schema that says what was migrated. */
async function traces(of: TestDatabase): Promise<unknown> {
  const { rows } = await of.query(`select nspname from pg_namespace where nspname !~ '^pg_' order by nspname`)
  const { rows: tables } = await of.query(`select to_regclass('holdfast.migrations') is not null as is_there`)
  const { rows: migrations } = tables[0]?.is_there
    ? await of.query('select * from holdfast.migrations order by id')
    : { rows: [] }
  return { rows, migrations }
}

test('a port where nobody listens is refused', async () => {
  const connectionString = urlOf(database, (url) => (url.port = '1'))
  await expectRefused(
    { connectionString },
    { code: 'DATABASE_UNREACHABLE', field: 'connectionString', says: /ECONNREFUSED.* DATABASE_URL/s },
  )
})

test('a socket that is not there is refused', async () => {
  await expectRefused(
    { connectionString: '/nowhere/at/all' },
    { code: 'DATABASE_UNREACHABLE', field: 'connectionString', says: /ENOENT.* DATABASE_URL/s },
  )
})

test('a host that is not there is refused', async () => {
  await expectRefused(
    { connectionString: 'postgres://nowhere.invalid/db' },
    { code: 'DATABASE_UNREACHABLE', field: 'connectionString', says: /nowhere\.invalid.* DATABASE_URL/s },
  )
})

test('a database that is not there is refused', async () => {
  const connectionString = urlOf(database, (url) => (url.pathname = '/nobodys'))
  await expectRefused(
    { connectionString },
    { code: 'DATABASE_UNREACHABLE', field: 'connectionString', says: /"nobodys" does not exist.* DATABASE_URL/s },
  )
})

test('a server older than PostgreSQL 13 is refused before it is asked for anything else', async () => {
  const server = await OldServer.open('120022')
  try {
    const { connectionString } = server
    await expectRefused(
      { connectionString },
      { code: 'DATABASE_VERSION', field: 'connectionString', says: /PostgreSQL 12.* PostgreSQL 13 or newer/s },
    )
    expect(server.asked).toEqual([])
  } finally {
    await server.close()
  }
})

test('a database user who may not create schemas is told so, and nothing is written', async () => {
  const empty = await emptyDatabase()
  const role = `holdfast_test_${randomBytes(6).toString('hex')}`
  await empty.query(`create role ${role} login password 'secret'`)
  try {
    const connectionString = urlOf(empty, (url) => {
      url.username = role
      url.password = 'secret'
    })
    const before = await traces(empty)
    await expectRefused(
      { connectionString },
      { code: 'DATABASE_PERMISSION', field: 'connectionString', says: /permission denied.* `workflow migrate`/s },
    )
    expect(await traces(empty)).toEqual(before)
  } finally {
    await empty.drop()
    await database.query(`drop role ${role}`)
  }
})

test('a database user who may not use the schema is told so', async () => {
  const role = `holdfast_test_${randomBytes(6).toString('hex')}`
  await database.query(`create role ${role} login password 'secret'`)
  try {
    const connectionString = urlOf(database, (url) => {
      url.username = role
      url.password = 'secret'
    })
    for (const mode of ['auto', 'off'] as const) {
      await expectRefused(
        { connectionString, migrate: mode },
        {
          code: 'DATABASE_PERMISSION',
          field: 'connectionString',
          says: `permission denied for schema ${names.schema}`,
        },
        ['a client', 'a worker'],
      )
    }
  } finally {
    await database.query(`drop role ${role}`)
  }
})

test.each(['verify', 'off'] as const satisfies MigrateMode[])(
  'a database without the schema is refused where it may not be made: %s',
  async (mode) => {
    const empty = await emptyDatabase()
    try {
      const before = await traces(empty)
      const options = { connectionString: empty.connectionString, migrate: mode }
      await expectRefused(options, { code: 'SCHEMA_MISSING', field: 'schema', says: 'workflow migrate' }, [
        'a client',
        'a worker',
      ])
      expect(await traces(empty)).toEqual(before)
    } finally {
      await empty.drop()
    }
  },
)

interface Tampering {
  readonly what: string
  readonly sql: string
  readonly refusal: Refusal
}

const tamperings: readonly Tampering[] = [
  {
    what: 'a schema that a newer release has changed beyond this one',
    sql: `insert into holdfast.migrations (id, name, checksum, is_breaking) values (9999, '9999_future', 'x', true)`,
    refusal: { code: 'SCHEMA_NEWER', field: 'schema', says: /9999_future.* Upgrade/s },
  },
  {
    what: 'a migration that is not the one that was applied',
    sql: `update holdfast.migrations set checksum = 'x' where id = 1`,
    refusal: { code: 'SCHEMA_CHANGED', field: 'schema', says: /0001_core.* never change/s },
  },
]

test.each(tamperings)('OPS-05: $what is refused, and nothing is written', async ({ sql, refusal }) => {
  const own = await createDatabase()
  try {
    await own.query(sql)
    const before = await traces(own)
    const { connectionString } = own
    await expectRefused({ connectionString }, refusal)
    await expectRefused({ connectionString, migrate: 'verify' }, refusal, ['a client', 'a worker'])
    expect(await traces(own)).toEqual(before)
    const { rows } = await own.query(
      'select from holdfast.runs union all select from holdfast.definitions union all select from holdfast.workers',
    )
    expect(rows).toEqual([])
  } finally {
    await own.drop()
  }
})

test('a schema of a newer release that breaks nothing is used as it is', async () => {
  const own = await createDatabase()
  try {
    await own.query(
      `insert into holdfast.migrations (id, name, checksum, is_breaking) values (9999, '9999_future', 'x', false)`,
    )
    const client = createClient(optionsFor(own))
    expect((await client.start(hello)).created).toBe(true)
    await client.close()
  } finally {
    await own.drop()
  }
})
