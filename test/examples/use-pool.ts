import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { TestRuntime } from '../../src/testing.ts'

/** An application's pool on the database of a runtime, for the tests of a file, once `open` has made its tables there. */
export function usePool(runtime: () => TestRuntime, open: (pool: pg.Pool) => Promise<void>): () => pg.Pool {
  let pool: pg.Pool
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: runtime().connectionString })
    // A session that is still on its way out when the database is dropped is no failure.
    pool.on('error', () => {})
    await open(pool)
  })
  afterAll(() => pool.end())
  return () => pool
}
