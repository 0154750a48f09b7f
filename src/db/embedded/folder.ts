import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, chown, lstat, mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../../model/clock.ts'
import { ConfigError } from '../../model/errors.ts'
import { canEnter, serverEnvironment } from './account.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'

const run = promisify(execFile)

/** Where one server lives. */
export interface Home {
  /** Holds the cluster and the server's log. */
  readonly folder: string
  /** The cluster itself. Named after the major version, since no other one can open it. */
  readonly cluster: string
  /** The file the server writes its log to. */
  readonly log: string
  readonly isTemporary: boolean
}

export interface HomeRequest {
  readonly dataFolder: string
  readonly account: Account | undefined
  readonly binaries: Binaries
}

export async function openHome({ dataFolder, account, binaries }: HomeRequest): Promise<Home> {
  const isTemporary = dataFolder === 'temporary'
  const folder = isTemporary ? await makeTemporaryFolder(account) : dataFolder
  if (!isTemporary) await mkdir(folder, { recursive: true, mode: account ? 0o711 : 0o700 })
  if (!(await canEnter(account, folder))) {
    throw new ConfigError(`Postgres runs as the user nobody here, who cannot enter ${folder}.`, {
      field: 'dataFolder',
      remedy: 'Open the folder and those above it to others (chmod o+x), or choose another one.',
    })
  }
  const major = Number.parseInt(binaries.version, 10)
  return { folder, cluster: join(folder, `pg${major}`), log: join(folder, 'server.log'), isTemporary }
}

/** The folder that a project's data stays in: below the user's cache, or the temp folder where that cannot serve. */
export async function projectFolder(projectPath: string, account: Account | undefined): Promise<string> {
  const key = createHash('sha256')
    .update(await realpath(projectPath))
    .digest('hex')
    .slice(0, 16)
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'holdfast')
  try {
    await mkdir(cache, { recursive: true })
    if (await canEnter(account, cache)) return join(cache, key)
  } catch {
    // No home, or one that is read-only.
  }
  return sharedFolder(`holdfast-${process.getuid?.() ?? 'user'}`, key)
}

/** Anybody may put a folder into the temp folder, so one of that name is used only if it is ours. */
async function sharedFolder(name: string, key: string): Promise<string> {
  const folder = join(tmpdir(), name)
  await mkdir(folder, { recursive: true, mode: 0o711 })
  const state = await lstat(folder)
  if (!state.isDirectory() || (process.getuid && state.uid !== process.getuid())) {
    throw new ConfigError(`${folder} is not a folder of ours.`, { remedy: 'Remove it, or set XDG_CACHE_HOME.' })
  }
  return join(folder, key)
}

async function makeTemporaryFolder(account: Account | undefined): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-postgres-'))
  if (account) await chown(folder, account.uid, account.gid)
  return folder
}

const nameFile = 'holdfast_cluster_name'

/**
 * The name that tells this cluster from every other server. It is drawn when the cluster is made and kept in it, so
 * that two processes that start at once agree on it.
 */
export async function clusterName(home: Home): Promise<string | undefined> {
  return readFile(join(home.cluster, nameFile), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

export interface ClusterRequest {
  readonly home: Home
  readonly binaries: Binaries
  readonly account: Account | undefined
  readonly isDurable: boolean
}

/** Makes the cluster aside and renames it into place: an interrupted or concurrent start leaves no half of one. */
export async function createCluster({ home, binaries, account, isDurable }: ClusterRequest): Promise<void> {
  const aside = await mkdtemp(`${home.cluster}-`)
  try {
    if (account) await chown(aside, account.uid, account.gid)
    await chmod(aside, 0o700)
    const options = ['--locale=C', '--encoding=UTF8', '--username=postgres', '--auth=trust']
    if (!isDurable) options.push('--no-sync')
    await run(join(binaries.folder, 'initdb'), ['-D', aside, ...options], {
      ...account,
      cwd: '/',
      env: serverEnvironment(),
    })
    const name = `holdfast_${Buffer.from(systemClock.randomBytes(16)).toString('hex')}`
    await writeFile(join(aside, nameFile), name)
    await rename(aside, home.cluster)
  } catch (error) {
    if ((await clusterName(home)) !== undefined) return
    throw error instanceof Error && 'stderr' in error
      ? new ConfigError(`initdb failed: ${String(error.stderr).trim()}`, { cause: error })
      : error
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}
