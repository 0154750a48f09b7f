import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Clock } from '../model/clock.ts'
import { ConfigError, DatabasePermissionError } from '../model/errors.ts'
import { release } from '../model/release.ts'
import { readConnectionString } from './connection-string.ts'
import { Database } from './database.ts'
import { codeOf, explain } from './database-errors.ts'
import { renderSql, schemaNames } from './schema-names.ts'
import { checksum, functionFiles, migrationFiles, testingFiles } from './sql-files.ts'

/**
 * Databases to throw away, each a copy of a migrated one that is made once a server and release. Its name says what is in
 * it, so it can stay: the next process, and the next test run, find it there.
 */

export interface ThrowAway {
  readonly connectionString: string
  readonly drop: () => Promise<void>
}

export interface ThrowAwayOptions {
  /** A database on the server, of a user who may create others. */
  readonly connectionString: string
  readonly migrate: (database: Database) => Promise<unknown>
  readonly clock: Clock
}

const applicationName = 'holdfast testing'

export async function createThrowAway(options: ThrowAwayOptions): Promise<ThrowAway> {
  const { connectionString, clock } = options
  const name = `holdfast_test_${Buffer.from(clock.randomBytes(8)).toString('hex')}`
  const template = templateName()
  const own = on(connectionString, name)
  await administer(connectionString, async (admin) => {
    if (!(await isMade(admin, template))) await makeTemplate(admin, template, options)
    await admin.query(`create database ${name} template ${template}`)
  })
  return {
    connectionString: own,
    drop: () =>
      administer(connectionString, async (admin) => {
        await admin.query(`drop database if exists ${name} with (force)`)
      }),
  }
}

function templateName(): string {
  const files = [...migrationFiles(), ...functionFiles(), ...testingFiles()]
  const digest = createHash('sha256')
    .update(`${release} ${checksum(files)}`)
    .digest('hex')
  return `holdfast_test_template_${digest.slice(0, 16)}`
}

/** One that is still being made can be connected to. */
async function isMade(admin: pg.Client, template: string): Promise<boolean> {
  const { rowCount } = await admin.query('select from pg_database where datname = $1 and not datallowconn', [template])
  return rowCount === 1
}

async function makeTemplate(admin: pg.Client, template: string, options: ThrowAwayOptions): Promise<void> {
  const { connectionString, migrate, clock } = options
  await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [template])
  if (await isMade(admin, template)) return
  // What a process that died has left of it.
  await admin.query(`drop database if exists ${template} with (force)`)
  await admin.query(`create database ${template}`)
  const address = on(connectionString, template)
  const database = new Database({ connectionString: address, applicationName, size: 1, clock })
  try {
    await migrate(database)
  } finally {
    await database.close()
  }
  await administer(address, async (client) => {
    for (const { text } of testingFiles()) await client.query(renderSql(text, schemaNames()))
  })
  // Only what nobody is connected to can be copied.
  await admin.query(`alter database ${template} allow_connections false`)
}

/** The same server and user, another database. */
function on(connectionString: string, name: string): string {
  if (!/^postgres(?:ql)?:/i.test(connectionString)) {
    throw new ConfigError('The connection string of a test server is no URL.', {
      field: 'connectionString',
      remedy: 'It looks like postgres://user:password@host:5432/database.',
    })
  }
  const url = new URL(connectionString)
  url.pathname = `/${name}`
  return url.href
}

async function administer<T>(connectionString: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client(readConnectionString(connectionString, applicationName))
  admin.on('error', () => undefined)
  try {
    await admin.connect()
    return await work(admin)
  } catch (error) {
    if (codeOf(error) !== '42501') throw explain(error)
    throw new DatabasePermissionError('The database user may not make a database for a test.', {
      field: 'connectionString',
      remedy: 'Let the user create databases (`alter role … createdb`), or give no address: then a server is started.',
      cause: error,
    })
  } finally {
    await admin.end().catch(() => undefined)
  }
}
