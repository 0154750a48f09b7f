import type { Command } from 'commander'
import { Client } from '../client/client.ts'
import { Database } from '../db/database.ts'
import { verifySchema } from '../db/migrate.ts'
import { parseClientOptions } from '../define/parse-client-options.ts'
import { systemClock } from '../model/clock.ts'
import { ConfigError } from '../model/errors.ts'
import { release } from '../model/release.ts'

export interface ConnectionFlags {
  readonly databaseUrl?: string
  readonly schema?: string
  readonly traceUrl?: string
}

/** The flags every command has. */
export function withConnection(command: Command): Command {
  return command
    .option('--database-url <url>', 'the database (default: DATABASE_URL)')
    .option('--schema <name>', 'the schema Holdfast lives in', 'holdfast')
}

export function connectionStringOf({ databaseUrl }: ConnectionFlags): string {
  const connectionString = databaseUrl ?? process.env['DATABASE_URL'] ?? ''
  if (connectionString !== '') return connectionString
  throw new ConfigError('No database was given.', {
    field: '--database-url',
    remedy: 'Give --database-url, or set DATABASE_URL.',
  })
}

function openDatabase(flags: ConnectionFlags): Database {
  const connectionString = connectionStringOf(flags)
  return new Database({
    connectionString,
    schema: flags.schema,
    size: 4,
    applicationName: 'holdfast cli',
    clock: systemClock,
  })
}

/** Runs one command against the database, and closes it whatever comes. */
export async function withDatabase<T>(flags: ConnectionFlags, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(flags)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The command line never migrates but when asked to: `workflow migrate`. */
export async function withClient<T>(flags: ConnectionFlags, work: (client: Client) => Promise<T>): Promise<T> {
  return await withDatabase(flags, (database) =>
    work(
      new Client({
        database,
        clock: systemClock,
        traceUrl: readTraceUrl(flags.traceUrl),
        prepare: () => verifySchema(database, release),
      }),
    ),
  )
}

function readTraceUrl(traceUrl: string | undefined): string | undefined {
  return traceUrl === undefined ? undefined : parseClientOptions({ traceUrl }).traceUrl
}
