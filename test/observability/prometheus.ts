import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** The one that is installed, if there is one. */
export const program = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'prometheus'))
  .find((path) => existsSync(path))

export interface Prometheus {
  /** The present values of a query's answer. */
  ask(query: string): Promise<number[]>
  stop(): Promise<void>
}

/** A server of one's own that asks the target every second. */
export async function startPrometheus(path: string, target: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-prometheus-'))
  const config = {
    global: { scrape_interval: '1s' },
    scrape_configs: [{ job_name: 'holdfast', static_configs: [{ targets: [target] }] }],
  }
  // YAML takes JSON.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const address = `127.0.0.1:${await freePort()}`
  const server = spawn(
    path,
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = once(server, 'exit')
  return {
    ask: async (query) => {
      const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`)
      const answer = (await response.json()) as Answer
      if (answer.status !== 'success') throw new Error(`${answer.error}: ${query}`)
      return answer.data.result.map(({ value: [, text] }) => Number(text))
    },
    stop: async () => {
      server.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Answer =
  | { readonly status: 'success'; readonly data: { readonly result: readonly Result[] } }
  | { readonly status: 'error'; readonly error: string }

interface Result {
  readonly value: readonly [at: number, value: string]
}

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
