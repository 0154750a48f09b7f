import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runNpm } from './support/run-npm.mjs'

// Runs on a fresh clone, so it imports nothing that has to be installed.

export const root = join(import.meta.dirname, '..')
const stampFile = join(root, 'node_modules', '.holdfast-lock')

/** Installs what package-lock.json says, unless that is what was installed last. Ends the process when it cannot. */
export function ensureInstalled() {
  const stamp = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  if (readStamp() === stamp) return
  console.log('Installing dependencies (npm ci)')
  // Under NODE_ENV=production npm would leave out what the tests and the examples need. No dependency needs its install
  // script: the one there is makes links that the launcher of the embedded server makes itself. Only tools of the tests
  // warn of Node 20.
  const args = [
    'ci',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--ignore-scripts',
    '--include=dev',
    '--include=optional',
  ]
  const { status, error } = runNpm(args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) {
    console.error(`npm ci failed${error ? `: ${error.message}` : ''}`)
    process.exit(1)
  }
  writeFileSync(stampFile, stamp)
}

function readStamp() {
  try {
    return readFileSync(stampFile, 'utf8')
  } catch {
    return undefined
  }
}
