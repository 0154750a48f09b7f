import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findNode } from '../../scripts/support/find-node.mjs'
import { pack } from '../../scripts/support/pack.mjs'
import { runNpm } from '../../scripts/support/run-npm.mjs'

const execute = promisify(execFile)

/** An application of somebody's, in a folder of its own, that has installed what would be published. */
export class Project {
  readonly folder: string = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-project-')))

  /** `beside` are the packages that it installs with this one. */
  install(beside: readonly string[]): void {
    const packed = join(this.folder, 'packed')
    mkdirSync(packed)
    this.write('package.json', '{ "private": true, "type": "module" }')
    const args = [
      'install',
      '--prefer-offline',
      '--fetch-retries=1',
      '--fetch-retry-mintimeout=1000',
      '--no-audit',
      '--no-fund',
      pack(packed),
      ...beside,
    ]
    const { status, stderr } = runNpm(args, { cwd: this.folder, encoding: 'utf8', timeout: 150_000 })
    if (status === 0) return
    throw new Error(
      `npm could not install the package. Its dependencies come from a registry; is one there?\n${stderr}`,
    )
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  /** What a file prints when a major version of Node runs it. */
  async run(node: number, path: string, environment: NodeJS.ProcessEnv = {}): Promise<string[]> {
    const args = [join(this.folder, path)]
    const { stdout } = await execute(findNode(node), args, {
      cwd: this.folder,
      env: { ...process.env, ...environment, NODE_OPTIONS: '' },
    })
    return stdout.trimEnd().split('\n')
  }

  /** What `npx` prints. It fetches nothing. */
  npx(...command: readonly string[]): string {
    const args = ['exec', '--no', '--', ...command]
    const { status, stdout, stderr } = runNpm(args, { cwd: this.folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`npx ${command.join(' ')} ended with ${status}:\n${stderr}`)
    return String(stdout).trimEnd()
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
