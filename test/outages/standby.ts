import { chmod, chown, cp, lchown, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { startEmbedded } from '../../src/db/embedded.ts'
import { serverAccount } from '../../src/db/embedded/account.ts'
import { findBinaries } from '../../src/db/embedded/binaries.ts'
import { connectionStringFor, findFreePort, launchPostmaster } from '../../src/db/embedded/postmaster.ts'
import type { Address } from '../support/database.ts'
import { HandClient, postgresSource } from '../support/variant.ts'

/** A server and its standby, which has every commit before it is acknowledged. */
export interface Pair {
  readonly primary: Address
  readonly standby: Address
  /** Ends the primary as a crash does. The standby goes on, read-only. */
  killPrimary(): Promise<void>
  promote(): Promise<void>
  remove(): Promise<void>
}

export async function startPair(): Promise<Pair> {
  const account = await serverAccount()
  const binaries = await findBinaries(process.cwd(), account, postgresSource)
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-pair-'))
  await chmod(folder, 0o711)
  const dataFolder = join(folder, 'primary')
  const start = (port?: number) => startEmbedded({ dataFolder, port, source: postgresSource })
  const copied = await start()
  await copied.stop()

  const home = { folder, cluster: join(folder, 'standby'), log: join(folder, 'standby.log'), isTemporary: false }
  const major = Number.parseInt(binaries.version, 10)
  await cp(join(dataFolder, `pg${major}`), home.cluster, { recursive: true })
  await writeFile(join(home.cluster, 'standby.signal'), '')
  await chmod(home.cluster, 0o700)
  if (account) await own(home.cluster, account.uid, account.gid)

  const primary = await start()
  const port = await findFreePort()
  const postmaster = await launchPostmaster({
    home,
    binaries,
    account,
    settings: {
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      primary_conninfo: `host=127.0.0.1 port=${new URL(primary.connectionString).port} user=postgres application_name=standby`,
    },
  })
  const standby = { connectionString: connectionStringFor(port) }
  await ask(primary, `alter system set synchronous_standby_names = 'standby'`)
  await ask(primary, 'select pg_reload_conf()')
  await vi.waitFor(async () => {
    expect(await ask(primary, 'select sync_state from pg_stat_replication')).toEqual([{ sync_state: 'sync' }])
    expect(await ask(standby, 'select pg_is_in_recovery() as is_standby')).toEqual([{ is_standby: true }])
  }, 15_000)
  return {
    primary,
    standby,
    killPrimary: () => primary.stop('immediate'),
    promote: async () => void (await ask(standby, 'select pg_promote()')),
    remove: async () => {
      await Promise.all([primary.stop('immediate'), postmaster.end('SIGQUIT')])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export async function ask({ connectionString }: Address, text: string, values?: unknown[]): Promise<unknown[]> {
  const client = new HandClient({ connectionString })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows
  } finally {
    await client.end()
  }
}

async function own(folder: string, uid: number, gid: number): Promise<void> {
  await chown(folder, uid, gid)
  for (const entry of await readdir(folder, { recursive: true })) await lchown(join(folder, entry), uid, gid)
}
