import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { ensureInstalled, root } from './bootstrap.mjs'

// `npm start`: the example, on a fresh clone as well. Arguments are the example's own.

ensureInstalled()
const example = spawn(
  process.execPath,
  ['--import', 'jiti/register', 'examples/orders/main.ts', ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit' },
)
// A terminal sends Ctrl-C to both of us: the example decides when to end. Other signals reach only this process.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => example.kill('SIGTERM'))
example.on('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 1)))
