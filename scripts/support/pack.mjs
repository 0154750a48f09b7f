import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../bootstrap.mjs'
import { runNpm } from './run-npm.mjs'

/** Packs what was built as it would be published, into an empty folder, and answers the path of the tarball. */
export function pack(/** @type {string} */ folder) {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
  const { status, stderr, error } = runNpm(args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm pack failed: ${error?.message ?? stderr}`)
  const name = readdirSync(folder).find((file) => file.endsWith('.tgz'))
  return join(folder, name)
}
