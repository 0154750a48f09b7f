import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../bootstrap.mjs'
import { runNpm } from './run-npm.mjs'

/** Something that is not to be had here. */
export class Missing extends Error {}

/** The program of a major version of Node: the running one, else that of an npm package, kept for the next time. */
export function findNode(/** @type {number} */ major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(root, 'node_modules', '.cache', `holdfast-node-${major}`)
  const program = join(folder, 'node_modules', name, 'bin', 'node')
  if (!existsSync(program)) {
    const args = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, `${name}@${major}`]
    runNpm(args, { stdio: 'ignore', timeout: 120_000 })
  }
  if (!existsSync(program)) throw new Missing(`npm has no ${name}@${major} for this machine, or reached no registry.`)
  return program
}
