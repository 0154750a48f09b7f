import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import pg from 'pg'
import { systemClock } from '../../model/clock.ts'
import { serverEnvironment } from './account.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import type { Home } from './folder.ts'

/**
 * Owns one postmaster process: how it is spawned, tied to this process's life, looked at and ended.
 *
 * The server must not outlive the process that started it, however that ends. So a small shell holds the reading end of
 * a pipe on fd 3 whose writing end is ours alone: the kernel closes it when this process is gone, killed or not. A line
 * written to the pipe says that the server has ended and that there is nothing left to do.
 */

/** $1 the signal to end the server with, $2 the cluster, $3 a folder to remove then or '', and then the server's command. */
const guardian = `
signal=$1 cluster=$2 folder=$3
shift 3
server=$$
{
  read -r line <&3 && exit
  kill -s "$signal" "$server" 2>/dev/null
  [ -n "$folder" ] || exit
  tries=0
  while kill -0 "$server" 2>/dev/null && [ -e "$cluster/postmaster.pid" ] && [ "$tries" -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  rm -rf "$folder"
} &
exec "$@" 3<&-
`

export interface Launch {
  readonly home: Home
  readonly binaries: Binaries
  readonly account: Account | undefined
  readonly settings: Readonly<Record<string, string>>
}

export interface Postmaster {
  readonly pid: number
  hasEnded(): boolean
  /** Sends the signal and waits until the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>
}

export async function launchPostmaster({ home, binaries, account, settings }: Launch): Promise<Postmaster> {
  const log = await open(home.log, 'a')
  try {
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const command = [join(binaries.folder, 'postgres'), '-D', home.cluster, ...options]
    const care = home.isTemporary ? ['QUIT', home.cluster, home.folder] : ['INT', home.cluster, '']
    const child = spawn('/bin/sh', ['-c', guardian, 'holdfast-postgres', ...care, ...command], {
      ...account,
      cwd: '/',
      env: serverEnvironment(),
      stdio: ['ignore', log.fd, log.fd, 'pipe'],
      // A session of its own, so that Ctrl-C reaches this process alone, which may still need the server to stop well.
      detached: true,
    })
    return await supervise(child)
  } finally {
    await log.close()
  }
}

async function supervise(child: ChildProcess): Promise<Postmaster> {
  const pipe = child.stdio[3] as Writable & { unref(): void }
  // The guardian may be gone first, and then there is nobody to tell.
  pipe.on('error', () => {})
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => {
      pipe.end('\n')
      resolve()
    }),
  )
  child.unref()
  pipe.unref()
  return {
    pid: child.pid as number,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    end: (signal) => {
      child.ref()
      child.kill(signal)
      return ended
    },
  }
}

type PostmasterStatus = 'starting' | 'stopping' | 'ready' | 'standby'

export interface PostmasterFile {
  readonly pid: number
  readonly port: number
  readonly status: PostmasterStatus
}

/** What the server says of itself in its own lock file; undefined when there is none or it is half written. */
export async function readPostmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const [pid, , , port, , , , status] = lines
  if (!pid || !port || !status) return undefined
  return { pid: Number(pid), port: Number(port), status: status.trim() as PostmasterStatus }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export function connectionStringFor(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}

/** The name of the cluster that answers on a port; undefined when none does. */
export async function askClusterName(port: number): Promise<string | undefined> {
  const client = new pg.Client({
    connectionString: connectionStringFor(port),
    ssl: false,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ cluster_name: string }>('show cluster_name')
    return rows[0]?.cluster_name
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * A free port below those that systems hand out to clients. Taken from among those, a server that is started again on
 * its port could find it lent to some connection, even one of a client that tries to reach that very port.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(systemClock.random() * 12_000)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
