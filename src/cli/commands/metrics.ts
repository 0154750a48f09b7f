import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { InvalidArgumentError, type Command } from 'commander'
import type { Database } from '../../db/database.ts'
import { readMetrics } from '../../db/metrics-calls.ts'
import { verifySchema } from '../../db/migrate.ts'
import { ArgumentError } from '../../model/errors.ts'
import { release } from '../../model/release.ts'
import { observeDatabase } from '../../trace/observe-database.ts'
import { writePrometheus } from '../../trace/prometheus.ts'
import { withConnection, withDatabase, type ConnectionFlags } from '../connection.ts'

interface Flags extends ConnectionFlags {
  readonly port?: number
  readonly host: string
}

const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/** `workflow metrics`: what the database knows, for a Prometheus that no worker exports to. */
export function addMetrics(program: Command): void {
  withConnection(program.command('metrics'))
    .description('print what the database says of queues, limits and workers, as Prometheus text; --port serves it')
    .option('--port <port>', 'serve it at /metrics, read anew for each request; 0: any free port', readPort)
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .action((flags: Flags) =>
      withDatabase(flags, async (database) => {
        await verifySchema(database, release)
        if (flags.port === undefined) return void process.stdout.write(await read(database))
        await serve(database, flags.port, flags.host)
      }),
    )
}

async function read(database: Database): Promise<string> {
  const standing = await readMetrics(database, undefined)
  return writePrometheus((observe) => {
    if (!standing) return
    observeDatabase(standing, observe)
    for (const { id, slots, used } of standing.workers) {
      observe('holdfast.worker.slot.limit', slots, { 'holdfast.worker.id': id })
      observe('holdfast.worker.slot.usage', used, { 'holdfast.worker.id': id })
    }
  })
}

/** Until the process is told to stop. */
async function serve(database: Database, port: number, host: string): Promise<void> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname !== '/metrics') {
      response.writeHead(404).end('See /metrics.\n')
      return
    }
    read(database).then(
      (text) => response.writeHead(200, { 'content-type': contentType }).end(text),
      (error: Error) => response.writeHead(503).end(`${error.message}\n`),
    )
  })
  await listen(server, port, host)
  const { address, family, port: at } = server.address() as AddressInfo
  console.error(`Metrics are at http://${family === 'IPv6' ? `[${address}]` : address}:${at}/metrics`)
  await told('SIGINT', 'SIGTERM')
  server.closeAllConnections()
  server.close()
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const remedy = 'Give another --port or --host; 0 is any free port.'
      reject(
        new ArgumentError(`Nothing can listen at ${host}:${port}: ${cause.message}`, {
          field: '--port',
          remedy,
          cause,
        }),
      )
    })
    server.listen(port, host, resolve)
  })
}

async function told(...signals: NodeJS.Signals[]): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const each of signals) process.once(each, () => resolve())
  })
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text)
  throw new InvalidArgumentError('It must be a port, 0 to 65535.')
}
