import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { connectionFromEnvironment, startEmbedded } from '../../src/db/embedded.ts'
import type { Embedded } from '../../src/db/embedded.ts'
import { postgresSource } from './variant.ts'
import { migrateDatabase } from './migrate-database.ts'

export interface TestServer {
  /** A connection that may create databases. */
  readonly connectionString: string
  /** The migrated database that each test database is a copy of. */
  readonly template: string
  /** Begins the name of every database of this test run. */
  readonly prefix: string
}

declare module 'vitest' {
  interface ProvidedContext {
    testServer: TestServer
  }
}

/** One server for the whole test run: that of DATABASE_URL, else one to throw away. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const fromEnvironment = connectionFromEnvironment()
  const { connectionString, stop } =
    fromEnvironment === undefined ? await startThrowAway() : { connectionString: fromEnvironment, stop: undefined }
  const prefix = `holdfast_test_${randomBytes(4).toString('hex')}_`
  const testServer: TestServer = { connectionString, prefix, template: `${prefix}template` }
  const teardown = async (): Promise<void> => {
    if (stop) await stop('immediate')
    else await dropAll(testServer)
  }

  try {
    await createTemplate(testServer)
  } catch (error) {
    await teardown()
    throw error
  }
  project.provide('testServer', testServer)
  return teardown
}

/** Room for several test files with a few pools each. */
function startThrowAway(): Promise<Embedded> {
  return startEmbedded({ durable: false, source: postgresSource, settings: { max_connections: '300' } })
}

async function createTemplate({ connectionString, template }: TestServer): Promise<void> {
  await administer(connectionString, `create database ${template}`)
  const url = new URL(connectionString)
  url.pathname = `/${template}`
  await migrateDatabase(url.href)
  // A database can be copied only while nobody is connected to it.
  await administer(connectionString, `alter database ${template} allow_connections false`)
}

async function dropAll({ connectionString, prefix }: TestServer): Promise<void> {
  const names = await administer(
    connectionString,
    `select datname as name from pg_database where starts_with(datname, '${prefix}')`,
  )
  for (const { name } of names) await administer(connectionString, `drop database if exists ${name} with (force)`)
}

async function administer(connectionString: string, statement: string): Promise<{ name: string }[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query<{ name: string }>(statement)).rows
  } finally {
    await client.end()
  }
}
