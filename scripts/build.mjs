import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './bootstrap.mjs'

// `npm run build`: src -> dist, with nothing of an older build left in it.

const dist = join(root, 'dist')
rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
})
// npm makes a bin executable where it installs a package; in the clone that is left to us.
if (status === 0) chmodSync(join(dist, 'cli', 'bin.js'), 0o755)
process.exitCode = status ?? 1
