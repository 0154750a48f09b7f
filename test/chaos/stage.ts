import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { installHistory } from '../support/history.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { createEffects } from './evidence.ts'

/** Where a suite plays: a server of its own that writes to disk, with its history, and a folder for the body logs. */
export interface Stage {
  readonly cluster: Cluster
  /** The suite's own sessions, which no fault but the server's end meets. */
  readonly pool: pg.Pool
  readonly folder: string
  /** By the database's clock, in milliseconds. */
  now(): Promise<number>
  close(): Promise<void>
}

const settings = { max_connections: '300', track_commit_timestamp: 'on' }

export async function openStage(): Promise<Stage> {
  const cluster = await startCluster({ settings })
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-chaos-'))
  const pool = new pg.Pool({ connectionString: cluster.connectionString, max: 4 })
  pool.on('error', () => undefined)
  pool.on('connect', (client) => void client.on('error', () => undefined))
  await migrateDatabase(cluster.connectionString)
  await installHistory(pool)
  await createEffects(pool)
  return {
    cluster,
    pool,
    folder,
    now: async () => {
      const { rows } = await pool.query<{ at: number }>(
        'select (extract(epoch from holdfast._now()) * 1000)::double precision as at',
      )
      return rows[0]?.at ?? 0
    },
    close: async () => {
      await pool.end()
      await cluster.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
