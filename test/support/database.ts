import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import { applyVariant, HandClient, variant } from './variant.ts'

/** Where a client or worker of a test goes: a test's database, or a server of its own. */
export interface Address {
  readonly connectionString: string
}

/** A database of one's own on the test run's server. */
export interface TestDatabase extends Address {
  readonly name: string
  readonly pool: pg.Pool
  query<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<pg.QueryResult<Row>>
  /** Ends the pool and every other connection, then drops the database. */
  drop(): Promise<void>
}

/** A new database that has been migrated. */
export async function createDatabase(): Promise<TestDatabase> {
  const database = nameDatabase()
  await create(database, inject('testServer').template)
  return database
}

/** A new database that knows nothing of Holdfast. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const database = nameDatabase()
  await create(database, 'template0')
  return database
}

/** A migrated database for the tests of a file or `describe`, there from the first of them until after the last. */
export function useDatabase(): TestDatabase {
  const database = nameDatabase()
  beforeAll(() => create(database, inject('testServer').template))
  afterAll(() => database.drop())
  return database
}

/** Chooses the name and connects nowhere yet: a pool makes its first connection when it is first used. */
function nameDatabase(): TestDatabase {
  const { connectionString: adminString, prefix } = inject('testServer')
  const name = `${prefix}${randomBytes(6).toString('hex')}`
  const url = new URL(adminString)
  url.pathname = `/${name}`
  const pool = new pg.Pool({ connectionString: url.href, max: 4, Client: HandClient })
  // An idle connection that a test had ended is no failure: the pool makes another.
  pool.on('error', () => {})
  return {
    name,
    connectionString: url.href,
    pool,
    query: (text, values) => pool.query(text, values as unknown[] | undefined),
    drop: async () => {
      await pool.end()
      await administer(`drop database if exists ${name} with (force)`)
    },
  }
}

async function create({ name, connectionString }: TestDatabase, template: string): Promise<void> {
  await administer(`create database ${name} template ${template}`)
  if (variant.name !== 'plain') await withClient(connectionString, (client) => applyVariant(client))
}

async function administer(statement: string): Promise<void> {
  await withClient(inject('testServer').connectionString, (client) => client.query(statement))
}

async function withClient(connectionString: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
