import { afterAll, beforeAll } from 'vitest'
import { startCluster, type Cluster } from './cluster.ts'
import { migrateDatabase } from './migrate-database.ts'

/** A migrated server for the tests of a file, there from the first of them until after the last. */
export function useCluster(): Cluster {
  let cluster: Cluster | undefined
  const started = (): Cluster => {
    if (!cluster) throw new Error('The server is there from the first test on.')
    return cluster
  }
  beforeAll(async () => {
    cluster = await startCluster()
    await migrateDatabase(cluster.connectionString)
  })
  afterAll(() => started().remove())
  return {
    get connectionString() {
      return started().connectionString
    },
    get pid() {
      return started().pid
    },
    stop: (mode) => started().stop(mode),
    start: () => started().start(),
    remove: () => started().remove(),
  }
}
