import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { ensureInstalled, root } from './bootstrap.mjs'

// `npm start`: an example, on a fresh clone as well: `npm start` runs orders, `npm start agent` another.

const names = readdirSync(join(root, 'examples')).filter((name) => existsSync(join(root, 'examples', name, 'main.ts')))
const [name = 'orders', ...rest] = process.argv.slice(2)
if (!names.includes(name) || rest.length > 0) {
  console.error(`npm start takes the name of one example: ${names.join(', ')}.`)
  process.exit(2)
}

ensureInstalled()
const example = spawn(process.execPath, ['--import', 'jiti/register', `examples/${name}/main.ts`], {
  cwd: root,
  stdio: 'inherit',
})
// A terminal sends Ctrl-C to both of us: the example decides when to end. Other signals reach only this process.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => example.kill('SIGTERM'))
example.on('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 1)))
