import { afterAll, beforeAll, inject } from 'vitest'
import { createTestRuntime, type TestRuntime, type TestRuntimeOptions } from '../../src/testing.ts'

/** A runtime for the tests of a `describe`, on the server of this test run. */
export function useRuntime(options: TestRuntimeOptions): () => TestRuntime {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createTestRuntime({ connectionString: inject('testServer').connectionString, ...options })
  })
  afterAll(() => runtime.close())
  return () => runtime
}
