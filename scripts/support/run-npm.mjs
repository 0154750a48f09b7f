import { spawnSync } from 'node:child_process'

/** Runs the npm that runs us, else the one on the PATH, to its end. */
export function runNpm(/** @type {string[]} */ args, /** @type {object} */ options) {
  const npm = process.env.npm_execpath
  return npm
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync('npm', args, { ...options, shell: process.platform === 'win32' })
}
