import pg from 'pg'
import { DatabaseVersionError, SchemaChangedError, SchemaMissingError, SchemaNewerError } from '../model/errors.ts'
import { codeOf, explain } from './database-errors.ts'
import { plainTypes, type Database } from './database.ts'
import { requireSession } from './require-session.ts'
import { quoteLiteral, renderSql, type SchemaNames } from './schema-names.ts'
import { checksum, functionFiles, migrationFiles, type Migration, type SqlFile } from './sql-files.ts'

/**
 * Brings the schema to this release: numbered migrations once each, then all functions as a set when any has changed.
 * One transaction, under one advisory lock, so that any number of processes may do it at once.
 *
 * An older process beside a newer schema leaves it alone, and refuses it if a migration it does not know says that it
 * breaks older ones.
 */

/** What `migrate` did. */
export interface MigrateResult {
  /** The names of the migrations that were missing; none if the schema was up to date. */
  readonly applied: readonly string[]
  readonly isFunctionsReplaced: boolean
}

/** Lets the queue bring its own schema up to date first, since our functions name its types. */
export type MigrateQueue = (client: pg.ClientConfig, names: SchemaNames) => Promise<void>

interface Found {
  readonly migrations: readonly { id: number; name: string; checksum: string; is_breaking: boolean }[]
  readonly functions: { checksum: string; release: string } | undefined
}

interface Plan {
  readonly pending: readonly Migration[]
  readonly isFunctionsDue: boolean
}

const oldestServer = 13

export async function migrate(database: Database, release: string, migrateQueue: MigrateQueue): Promise<MigrateResult> {
  const { names } = database
  return await withClient(database, async (client) => {
    await requireServer(client)
    if (isCurrent(plan(await look(client, names), release, names))) return { applied: [], isFunctionsReplaced: false }
    await requireSession(client, database.connectionConfig)
    await client.query(`set search_path = ''; set statement_timeout = 0; set lock_timeout = 0`)
    await client.query(`select pg_advisory_lock(hashtextextended($1, 0))`, [`holdfast migrate ${names.schema}`])
    await client.query(`create schema if not exists ${names.quoted}`)
    await migrateQueue(database.connectionConfig, names)
    return await apply(client, names, release)
  })
}

/** Throws unless the schema is one this release can use as it is. */
export async function verifySchema(database: Database, release: string): Promise<void> {
  const { names } = database
  await withClient(database, async (client) => {
    await requireServer(client)
    if (isCurrent(plan(await look(client, names), release, names))) return
    throw new SchemaMissingError(`The schema "${names.schema}" is not that of Holdfast ${release}.`, {
      field: 'schema',
      remedy: 'Run `workflow migrate`.',
    })
  })
}

/** What `migrate` runs where there is no schema yet, as one script. The queue's own schema has to be there first. */
export function migrationScript(names: SchemaNames, release: string): string {
  const functions = functionFiles()
  return [
    'begin isolation level read committed;',
    `set local search_path = '';`,
    `create schema if not exists ${names.quoted};`,
    recordTables(names),
    ...migrationFiles().flatMap((file) => [renderSql(file.text, names), recordMigration(file, names)]),
    'set local check_function_bodies = off;',
    ...functions.map((file) => renderSql(file.text, names)),
    recordFunctions(functions, release, names),
    'commit;',
  ].join('\n')
}

async function apply(client: pg.Client, names: SchemaNames, release: string): Promise<MigrateResult> {
  await client.query('begin isolation level read committed')
  await client.query(recordTables(names))
  const { pending, isFunctionsDue } = plan(await look(client, names), release, names)
  for (const migration of pending) {
    await client.query(renderSql(migration.text, names))
    await client.query(recordMigration(migration, names))
  }
  if (isFunctionsDue) await replaceFunctions(client, names, release)
  await client.query('commit')
  return { applied: pending.map((migration) => migration.name), isFunctionsReplaced: isFunctionsDue }
}

function recordTables({ quoted }: SchemaNames): string {
  return `create table if not exists ${quoted}.migrations (id integer primary key, name text not null,
  checksum text not null, is_breaking boolean not null, applied_at timestamptz not null default clock_timestamp());
create table if not exists ${quoted}.function_sets (is_only boolean primary key default true check (is_only),
  checksum text not null, release text not null);`
}

function recordMigration({ id, name, checksum: applied, isBreaking }: Migration, { quoted }: SchemaNames): string {
  const values = [id, quoteLiteral(name), quoteLiteral(applied), isBreaking]
  return `insert into ${quoted}.migrations (id, name, checksum, is_breaking) values (${values.join(', ')});`
}

function recordFunctions(files: readonly SqlFile[], release: string, { quoted }: SchemaNames): string {
  const values = [checksum(files), release].map(quoteLiteral)
  return `insert into ${quoted}.function_sets (checksum, release) values (${values.join(', ')})
on conflict (is_only) do update set checksum = excluded.checksum, release = excluded.release;`
}

/**
 * Defines all functions anew, in place: a call that was read before finds its function still there when it runs. Dropped
 * are those whose answer or arguments have changed, which `create or replace` cannot do, and those no file defines.
 */
async function replaceFunctions(client: pg.Client, names: SchemaNames, release: string): Promise<void> {
  const files = functionFiles()
  const before = (await functionsOf(client, names)).map(({ version }) => version)
  await client.query(`set local check_function_bodies = off`)
  for (const file of files) await replaceFunction(client, renderSql(file.text, names), file.name, names)
  const leftovers = (await functionsOf(client, names)).filter(({ version }) => before.includes(version))
  await dropFunctions(client, leftovers)
  await client.query(recordFunctions(files, release, names))
}

async function replaceFunction(client: pg.Client, text: string, name: string, names: SchemaNames): Promise<void> {
  await client.query('savepoint replaced')
  try {
    await client.query(text)
  } catch (error) {
    if (codeOf(error) !== '42P13') throw error
    await client.query('rollback to savepoint replaced')
    await dropFunctions(
      client,
      (await functionsOf(client, names)).filter((each) => each.name === name),
    )
    await client.query(text)
  }
  await client.query('release savepoint replaced')
}

interface FoundFunction {
  readonly name: string
  readonly signature: string
  /** Changes whenever it is defined anew. */
  readonly version: string
}

async function functionsOf(client: pg.Client, { quoted }: SchemaNames): Promise<FoundFunction[]> {
  const { rows } = await client.query<FoundFunction>(
    `select proname as name, oid::regprocedure::text as signature, oid || ' ' || xmin as version
     from pg_catalog.pg_proc where pronamespace = $1::regnamespace`,
    [quoted],
  )
  return rows
}

async function dropFunctions(client: pg.Client, functions: readonly FoundFunction[]): Promise<void> {
  if (functions.length === 0) return
  await client.query(`drop function ${functions.map(({ signature }) => signature).join(', ')}`)
}

async function look(client: pg.Client, names: SchemaNames): Promise<Found> {
  const { rows } = await client.query<{ is_there: boolean }>(`select to_regclass($1) is not null as is_there`, [
    `${names.quoted}.function_sets`,
  ])
  if (!rows[0]?.is_there) return { migrations: [], functions: undefined }
  const migrations = await client.query(`select id, name, checksum, is_breaking from ${names.quoted}.migrations`)
  const functions = await client.query(`select checksum, release from ${names.quoted}.function_sets`)
  return { migrations: migrations.rows, functions: functions.rows[0] }
}

function plan(found: Found, release: string, names: SchemaNames): Plan {
  const files = migrationFiles()
  const known = new Map(files.map((file) => [file.id, file]))
  for (const { id, name, checksum: applied, is_breaking: isBreaking } of found.migrations) {
    const file = known.get(id)
    if (file === undefined && isBreaking) {
      throw new SchemaNewerError(`The schema "${names.schema}" was migrated by a newer release (${id} ${name}).`, {
        field: 'schema',
        remedy: `Upgrade this process: Holdfast ${release} does not know that migration.`,
      })
    }
    if (file !== undefined && file.checksum !== applied) {
      throw new SchemaChangedError(`Migration ${name} in "${names.schema}" is not the one of this release.`, {
        field: 'schema',
        remedy: 'Released migrations never change; restore the package, or migrate a fresh schema.',
      })
    }
  }
  const done = new Set(found.migrations.map((migration) => migration.id))
  const isNewer = found.functions !== undefined && compareReleases(found.functions.release, release) > 0
  return {
    pending: files.filter((file) => !done.has(file.id)),
    isFunctionsDue: !isNewer && found.functions?.checksum !== checksum(functionFiles()),
  }
}

function isCurrent({ pending, isFunctionsDue }: Plan): boolean {
  return pending.length === 0 && !isFunctionsDue
}

function compareReleases(a: string, b: string): number {
  const parts = (release: string): number[] => release.split(/[.-]/, 3).map(Number)
  const [left, right] = [parts(a), parts(b)]
  return left.map((part, index) => part - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0
}

async function requireServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string }>(`select current_setting('server_version_num') as version`)
  const version = Math.floor(Number(rows[0]?.version) / 10_000)
  if (version >= oldestServer) return
  throw new DatabaseVersionError(`The server is PostgreSQL ${version}.`, {
    field: 'connectionString',
    remedy: `Holdfast needs PostgreSQL ${oldestServer} or newer.`,
  })
}

async function withClient<T>(database: Database, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...database.connectionConfig, types: plainTypes })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } catch (error) {
    throw explain(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}
