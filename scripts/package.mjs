import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './bootstrap.mjs'
import { pack } from './support/pack.mjs'

// `npm run package`: what would be published, once built, is read as others' tools will read it.

const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'))
try {
  const tarball = pack(folder)
  const linters = [
    ['node_modules/publint/src/cli.js', tarball, '--strict'],
    // `require` of this package is the job of Node 20.19 and later, not of a second build.
    ['node_modules/@arethetypeswrong/cli/dist/index.js', tarball, '--profile=esm-only', '--no-emoji', '--no-summary'],
  ]
  const isGood = linters.every((command) => {
    return spawnSync(process.execPath, command, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0
  })
  process.exitCode = isGood ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
