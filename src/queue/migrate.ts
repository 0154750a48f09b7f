import { Logger, runMigrations } from 'graphile-worker'
import { sessionPool, type Database } from '../db/database.ts'
import { queueTypes } from '../db/patient-pool.ts'
import { migrate as migrateSchema, type MigrateResult } from '../db/migrate.ts'

/** Brings the queue's schema and ours to this release. Safe to call from any number of processes at once. */
export async function migrate(database: Database, release: string): Promise<MigrateResult> {
  return await migrateSchema(database, release, async (config, names) => {
    const pool = sessionPool({ ...config, types: queueTypes }, 1)
    try {
      await pool.query(`set lock_timeout = 0; set statement_timeout = 0`)
      await runMigrations({ pgPool: pool, schema: names.queue, logger: new Logger(() => () => undefined) })
    } finally {
      await pool.end()
    }
  })
}
