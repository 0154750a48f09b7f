import { Database } from '../../src/db/database.ts'
import { systemClock } from '../../src/model/clock.ts'
import { release } from '../../src/model/release.ts'
import { migrate } from '../../src/queue/migrate.ts'

/** Brings a database to this release, as `workflow migrate` does. */
export async function migrateDatabase(connectionString: string): Promise<void> {
  const database = new Database({ connectionString, size: 1, clock: systemClock })
  try {
    await migrate(database, release)
  } finally {
    await database.close()
  }
}
