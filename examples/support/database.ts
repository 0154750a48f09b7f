import { Client } from 'pg'
import { connectionFromEnvironment, startEmbedded } from '../../src/db/embedded.ts'

export interface Database {
  readonly connectionString: string
  readonly description: string
  close(): Promise<void>
}

/** A fresh database for this run of an example: the embedded server, or one more database on the server you name. */
export async function openDatabase(example: string): Promise<Database> {
  const server = connectionFromEnvironment()
  if (server) return createDatabaseOn(server, `holdfast_${example}_${process.pid}`)
  const embedded = await startEmbedded({ dataFolder: 'temporary', durable: true })
  return {
    connectionString: embedded.connectionString,
    description: `an embedded PostgreSQL ${embedded.version} at ${embedded.connectionString}`,
    close: () => embedded.stop(),
  }
}

async function createDatabaseOn(server: string, name: string): Promise<Database> {
  await execute(server, `create database ${name}`).catch((error: unknown) => {
    const reason = error instanceof AggregateError ? error.errors[0] : error
    throw new Error(`Cannot make a database on the server of DATABASE_URL: ${reason}`, { cause: error })
  })
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    connectionString: url.href,
    description: `a new database ${name} on the server of DATABASE_URL, dropped at the end`,
    close: () => execute(server, `drop database ${name} with (force)`),
  }
}

async function execute(server: string, sql: string): Promise<void> {
  const connection = new Client({ connectionString: server })
  await connection.connect()
  try {
    await connection.query(sql)
  } finally {
    await connection.end()
  }
}
