import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { connectionFromEnvironment, startEmbedded } from '../../src/db/embedded.ts'
import { serverAccount } from '../../src/db/embedded/account.ts'
import { findBinaries } from '../../src/db/embedded/binaries.ts'
import type { Embedded, EmbeddedOptions } from '../../src/db/embedded.ts'

const root = join(import.meta.dirname, '..', '..')
const cleanups: (() => unknown)[] = []

afterEach(async () => {
  vi.unstubAllEnvs()
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

async function start(options: EmbeddedOptions): Promise<Embedded> {
  const server = await startEmbedded(options)
  cleanups.push(() => server.stop('immediate'))
  return server
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-embedded-test-'))
  await chmod(folder, 0o711)
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function ask(connectionString: string, query: string): Promise<unknown> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return Object.values((await client.query<Record<string, unknown>>(query)).rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

/** One that has ended and only waits to be collected by process 1 does not count as alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** A process of its own that starts a server, says which, and waits to be killed. */
async function startInAnotherProcess(options: EmbeddedOptions): Promise<{ child: ChildProcess; server: Embedded }> {
  const program = `
    import { startEmbedded } from '${join(root, 'src', 'db', 'embedded.ts')}'
    process.stdout.write(JSON.stringify(await startEmbedded(${JSON.stringify(options)})) + '\\n')
    process.stdin.resume()
  `
  const folder = await makeFolder()
  const file = join(folder, 'starter.ts')
  await writeFile(file, program)
  const child = spawn(process.execPath, ['--import', 'jiti/register', file], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  cleanups.push(() => child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, server: JSON.parse(line) as Embedded }
  }
  throw new Error('The process ended before its server was up')
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

describe('a throw-away server', () => {
  test('answers with UTF8, the C locale and fsync off, on loopback alone', async () => {
    const { connectionString } = await start({ durable: false })
    expect(
      await ask(
        connectionString,
        `select datcollate || ' ' || pg_encoding_to_char(encoding) from pg_database
      where datname = current_database()`,
      ),
    ).toBe('C UTF8')
    expect(await ask(connectionString, 'show fsync')).toBe('off')
    expect(await ask(connectionString, 'show listen_addresses')).toBe('127.0.0.1')
    expect(await ask(connectionString, 'show unix_socket_directories')).toBe('')
  })

  test('has a name that no other server has', async () => {
    const servers = await Promise.all([start({ durable: false }), start({ durable: false })])
    const names = await Promise.all(servers.map((server) => ask(server.connectionString, 'show cluster_name')))
    expect(names[0]).toMatch(/^holdfast_[0-9a-f]{32}$/)
    expect(names[1]).not.toBe(names[0])
  })

  test('leaves neither a process nor a folder once stopped', async () => {
    const { pid, dataFolder, stop } = await start({ durable: false })
    expect(isAlive(pid)).toBe(true)
    await stop()
    expect(isAlive(pid)).toBe(false)
    await expect(readdir(dataFolder)).rejects.toThrow('ENOENT')
  })

  test('ends when its Node process is killed, and takes its folder along', async () => {
    const { child, server } = await startInAnotherProcess({ durable: false })
    expect(await ask(server.connectionString, 'select 1')).toBe(1)
    await kill(child)
    await vi.waitUntil(() => !isAlive(server.pid), { timeout: 20_000 })
    await vi.waitFor(() => expect(readdir(server.dataFolder)).rejects.toThrow('ENOENT'), { timeout: 20_000 })
  })

  test('says what Postgres said when it cannot start', async () => {
    const before = (await readdir(tmpdir())).filter((name) => name.startsWith('holdfast-postgres-'))
    await expect(startEmbedded({ durable: false, settings: { shared_buffers: 'plenty' } })).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringContaining('invalid value for parameter "shared_buffers"') as string,
    })
    const after = (await readdir(tmpdir())).filter((name) => name.startsWith('holdfast-postgres-'))
    expect(after.filter((name) => !before.includes(name))).toEqual([])
  })
})

describe('a server that keeps its data', () => {
  test('gives it back after it was stopped', async () => {
    const dataFolder = await makeFolder()
    const first = await start({ dataFolder, durable: false })
    await ask(first.connectionString, 'create table kept as select 42 as answer')
    await first.stop()

    const second = await start({ dataFolder, durable: false })
    expect(second.isOwner).toBe(true)
    expect(await ask(second.connectionString, 'select answer from kept')).toBe(42)
  })

  test('gives back what was committed after its Node process was killed, and ends with it', async () => {
    const dataFolder = await makeFolder()
    const { child, server } = await startInAnotherProcess({ dataFolder })
    await ask(server.connectionString, 'create table kept as select 42 as answer')
    await kill(child)

    // Begun at once: it has to wait until the old server has ended.
    const next = await start({ dataFolder })
    expect(next.isOwner).toBe(true)
    expect(next.pid).not.toBe(server.pid)
    expect(await ask(next.connectionString, 'select answer from kept')).toBe(42)
  })

  test('is found by a second start, which does not stop it', async () => {
    const dataFolder = await makeFolder()
    const first = await start({ dataFolder, durable: false })
    const second = await start({ dataFolder, durable: false })
    expect(second).toMatchObject({ pid: first.pid, connectionString: first.connectionString, isOwner: false })
    await second.stop()
    expect(await ask(first.connectionString, 'select 1')).toBe(1)
  })

  test('is one server when several are started at once', async () => {
    const dataFolder = await makeFolder()
    const servers = await Promise.all([1, 2, 3].map(() => start({ dataFolder, durable: false })))
    expect(new Set(servers.map((server) => server.pid)).size).toBe(1)
    expect(servers.filter((server) => server.isOwner)).toHaveLength(1)
    expect((await readdir(dataFolder)).filter((name) => name.startsWith('pg'))).toHaveLength(1)
  })

  test('is another one for another project', async () => {
    const cache = await makeFolder()
    vi.stubEnv('XDG_CACHE_HOME', cache)
    const projects = [join(cache, 'one'), join(cache, 'two')] as const
    for (const project of projects) await mkdir(project)
    const [one, two] = [await start({ projectPath: projects[0] }), await start({ projectPath: projects[1] })]
    expect(two.isOwner).toBe(true)
    expect(two.dataFolder).not.toBe(one.dataFolder)
    expect(one.dataFolder.startsWith(join(cache, 'holdfast'))).toBe(true)
    expect((await start({ projectPath: projects[0] })).pid).toBe(one.pid)
  })
})

describe('a server that is not ours', () => {
  test('is not attached to, though it is a Postgres that listens on the port of our last one', async () => {
    const dataFolder = await makeFolder()
    const port = await portOf(dataFolder)
    const foreign = await start({ durable: false, port })

    const ours = await start({ dataFolder, durable: false })
    expect(ours.isOwner).toBe(true)
    expect(ours.pid).not.toBe(foreign.pid)
    expect(ours.connectionString).not.toBe(foreign.connectionString)
  })

  test('is left alone when it holds the port that was asked for', async () => {
    const foreign = createServer((socket) => socket.on('error', () => {}))
    foreign.listen(0, '127.0.0.1')
    await once(foreign, 'listening')
    cleanups.push(() => foreign.close())
    const { port } = foreign.address() as AddressInfo
    await expect(startEmbedded({ durable: false, port })).rejects.toMatchObject({
      message: expect.stringContaining('Address already in use') as string,
    })
  })
})

/** Runs a server once and leaves its lock file as if it still ran, under the id of this process. */
async function portOf(dataFolder: string): Promise<number> {
  const { connectionString, stop } = await start({ dataFolder, durable: false })
  const cluster = join(dataFolder, (await readdir(dataFolder)).find((name) => name.startsWith('pg')) as string)
  const port = Number(new URL(connectionString).port)
  await stop()
  const lines = [process.pid, cluster, 1, port, '', '127.0.0.1', '', 'ready   ', '']
  await writeFile(join(cluster, 'postmaster.pid'), lines.join('\n'))
  return port
}

const hasSystemBinaries = await findBinaries(root, await serverAccount(), 'system').then(
  () => true,
  () => false,
)

test.runIf(hasSystemBinaries)('system binaries serve as well', async () => {
  const { source, version, connectionString } = await start({ durable: false, source: 'system' })
  expect(source).toBe('system')
  expect(await ask(connectionString, 'show server_version')).toSatisfy((shown: string) => shown.startsWith(version))
})

test('an empty DATABASE_URL counts as unset', () => {
  vi.stubEnv('DATABASE_URL', '')
  expect(connectionFromEnvironment()).toBeUndefined()
  vi.stubEnv('DATABASE_URL', 'postgres://somewhere/db')
  expect(connectionFromEnvironment()).toBe('postgres://somewhere/db')
})
