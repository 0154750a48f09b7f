import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../src/db/embedded.ts'
import type { Embedded, StopMode } from '../../src/db/embedded.ts'
import { postgresSource } from './variant.ts'

export interface ClusterOptions {
  /** Whether commits survive an immediate stop of the machine; tests of failures want true. Default true. */
  fsync?: boolean | undefined
  settings?: Readonly<Record<string, string>> | undefined
}

/** A Postgres server of one's own, which can be stopped and started again on the same port and data. */
export interface Cluster {
  readonly connectionString: string
  /** Of the server's main process, as last started. */
  readonly pid: number
  /** `immediate` ends it as a crash does: the next start recovers from the log. Default `fast`. */
  stop(mode?: StopMode): Promise<void>
  start(): Promise<void>
  /** Stops it for good and removes its data. */
  remove(): Promise<void>
}

export async function startCluster({ fsync = true, settings }: ClusterOptions = {}): Promise<Cluster> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'holdfast-cluster-'))
  // The server may run as another user than the tests do.
  await chmod(dataFolder, 0o711)
  const launch = (port?: number): Promise<Embedded> =>
    startEmbedded({ dataFolder, durable: fsync, port, settings, source: postgresSource })

  let server = await launch()
  const { connectionString } = server
  return {
    connectionString,
    get pid() {
      return server.pid
    },
    stop: (mode) => server.stop(mode),
    start: async () => {
      server = await launch(Number(new URL(connectionString).port))
    },
    remove: async () => {
      await server.stop('immediate')
      await rm(dataFolder, { recursive: true, force: true })
    },
  }
}
