import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/types/**', 'test/containers/**'],
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/support/set-up.ts',
    pool: 'forks',
    // Many tests wait: one more than there are processors.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What a test waits for comes when it comes: on a busy machine that is later.
    expect: { poll: { timeout: 15_000, interval: 20 } },
    reporters: ['default'],
  },
})
