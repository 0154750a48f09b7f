/** The server of a benchmark: durable, and near its defaults. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startEmbedded } from '../src/db/embedded.ts'
import { localPostmaster } from './measure.ts'

export interface Server {
  readonly connectionString: string
  readonly version: string
  /** The postmaster, where it is a process of this machine. */
  readonly pid: number | undefined
  stop(): Promise<void>
}

const settings = { fsync: 'on', synchronous_commit: 'on', shared_buffers: '1GB', max_connections: '200' }

export async function startServer(): Promise<Server> {
  const given = process.env['BENCH_DATABASE_URL']
  const { connectionString, stop } = given
    ? { connectionString: given, stop: async () => {} }
    : await startEmbedded({ dataFolder: 'temporary', durable: true, settings })
  try {
    return await withDatabase(connectionString, async (database) => {
      const { rows } = await database.query<{ server_version: string }>('show server_version')
      return { connectionString, version: rows[0]?.server_version ?? '', pid: await localPostmaster(database), stop }
    })
  } catch (error) {
    await stop()
    throw error
  }
}

export async function withDatabase<T>(connectionString: string, fn: (database: pg.Client) => Promise<T>): Promise<T> {
  const database = new pg.Client({ connectionString })
  await database.connect()
  try {
    return await fn(database)
  } finally {
    await database.end()
  }
}

let databaseCount = 0

/**
 * Gives `fn` a database of its own, empty or as the one at `template` is. The checkpoint before it keeps one round's
 * dirty pages out of the next's figures.
 */
export async function withFreshDatabase<T>(
  server: Server,
  fn: (connectionString: string) => Promise<T>,
  template?: string,
): Promise<T> {
  const name = `bench_${process.pid}_${++databaseCount}`
  const url = new URL(server.connectionString)
  url.pathname = `/${name}`
  return withDatabase(server.connectionString, async (admin) => {
    await admin.query('checkpoint')
    await admin.query(`create database ${name}${template ? ` template ${new URL(template).pathname.slice(1)}` : ''}`)
    try {
      return await fn(url.href)
    } finally {
      await untilUnused(admin, name)
      await admin.query(`drop database ${name} with (force)`)
    }
  })
}

const goodbyeMs = 5000

/** A pg pool's `end` answers before its last connections are gone; one cut off by the drop would be an unhandled error. */
async function untilUnused(admin: pg.Client, name: string): Promise<void> {
  const giveUpAt = performance.now() + goodbyeMs
  while (performance.now() < giveUpAt) {
    const { rows } = await admin.query(
      `select from pg_stat_activity where datname = $1 and backend_type = 'client backend' limit 1`,
      [name],
    )
    if (rows.length === 0) return
    await sleep(10)
  }
}
