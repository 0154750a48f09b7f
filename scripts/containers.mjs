import { spawnSync } from 'node:child_process'
import { ensureInstalled, root } from './bootstrap.mjs'
import { whyNoEngine } from './engine.mjs'

// `npm run test:containers`: the tests that start containers, with vitest's arguments.

ensureInstalled()
const why = await whyNoEngine()
if (why === undefined) {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.containers.config.ts']
  // The tests stop what they start; a further container that clears up after killed ones would be one more image to get.
  const env = { TESTCONTAINERS_RYUK_DISABLED: 'true', ...process.env }
  const { status } = spawnSync(process.execPath, [...vitest, ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
    env,
  })
  process.exitCode = status ?? 1
} else {
  console.log(`The container tests are skipped: ${why}`)
}
