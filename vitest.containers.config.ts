import { defineConfig } from 'vitest/config'

/** Apart from the others: these need a container engine, and each file starts a server of its own. */
export default defineConfig({
  test: {
    include: ['test/containers/**/*.test.ts'],
    setupFiles: 'test/support/set-up.ts',
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 60_000,
    // The image may have to be pulled first.
    hookTimeout: 300_000,
    reporters: ['default'],
  },
})
