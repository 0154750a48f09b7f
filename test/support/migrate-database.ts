import pg from 'pg'
import { Database } from '../../src/db/database.ts'
import { systemClock } from '../../src/model/clock.ts'
import { release } from '../../src/model/release.ts'
import { migrate } from '../../src/queue/migrate.ts'
import { applyVariant, variant } from './variant.ts'

/** Brings a database to this release, as `workflow migrate` does. */
export async function migrateDatabase(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await applyVariant(client)
  await client.end()
  const database = new Database({ connectionString, schema: variant.schema, size: 1, clock: systemClock })
  try {
    await migrate(database, release)
  } finally {
    await database.close()
  }
}
