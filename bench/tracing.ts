/** The tracing suite: what spans and metrics cost a worker, without an SDK in its process and with one that exports. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { playRound } from './harness.ts'
import { median, round, type RoundFigures } from './measure.ts'
import { tracingNames, type TracingName } from './peers/tracing.ts'
import { startServer, type Server } from './postgres.ts'

const barNames = ['no_sdk', 'exporting'] as const
type BarName = (typeof barNames)[number]

/** Of the throughput with the tracing calls removed. */
export const bars: Readonly<Record<BarName, number>> = { no_sdk: 0.97, exporting: 0.8 }

interface TracingResult {
  readonly suite: 'tracing'
  readonly node: string
  readonly postgres: string
  /** Runs a second over those with the tracing calls removed. */
  readonly results: Readonly<Record<BarName, number | null>>
  /** The same of the worker's processor time: more is dearer. */
  readonly worker_cpu: Readonly<Record<BarName, number | null>>
}

export interface TracingOutcome {
  readonly result: TracingResult
  readonly rounds: Readonly<Record<BarName, readonly number[]>>
}

const work = { work: 'W3', slots: 64, runs: 60_000 } as const

export async function runTracing(
  { rounds: total }: { rounds: number },
  say: (line: string) => void,
): Promise<TracingOutcome> {
  const server = await startServer()
  const receiver = await startReceiver()
  try {
    const speed: Record<BarName, number[]> = { no_sdk: [], exporting: [] }
    const cpu: Record<BarName, number[]> = { no_sdk: [], exporting: [] }
    for (let number = 1; number <= total; number++) {
      const figures = await playAll(server, receiver.endpoint, number, say)
      for (const name of barNames) {
        speed[name].push(figures[name].runs_s / figures.untraced.runs_s)
        cpu[name].push(figures[name].worker_cpu_ms / figures.untraced.worker_cpu_ms)
        say(`${name}, round ${number}: ${speed[name].at(-1)?.toFixed(3)} (bar ${bars[name]})`)
      }
      say(`${receiver.bytes()} bytes of spans came in so far`)
    }
    if (receiver.bytes() === 0) throw new Error('Nothing was exported.')
    const medians = (of: Record<BarName, number[]>): Record<BarName, number | null> => ({
      no_sdk: round(median(of.no_sdk), 3),
      exporting: round(median(of.exporting), 3),
    })
    return {
      result: {
        suite: 'tracing',
        node: process.versions.node,
        postgres: server.version,
        results: medians(speed),
        worker_cpu: medians(cpu),
      },
      rounds: speed,
    }
  } finally {
    await receiver.close()
    await server.stop()
  }
}

/** What one leaves to the server to clean up slows down the next, so they take turns in going first. */
async function playAll(
  server: Server,
  otlp: string,
  number: number,
  say: (line: string) => void,
): Promise<Record<TracingName, RoundFigures>> {
  const first = number % tracingNames.length
  const inTurn = [...tracingNames.slice(first), ...tracingNames.slice(0, first)]
  const figures: Partial<Record<TracingName, RoundFigures>> = {}
  for (const peer of number % 2 === 0 ? inTurn : inTurn.toReversed()) {
    const played = await playRound(server, { ...work, peer, otlp, profile: undefined })
    figures[peer] = played
    say(`${peer}: ${round(played.runs_s, 0)} runs/s, worker CPU ms/1k ${round(played.worker_cpu_ms, 0)}`)
  }
  return figures as Record<TracingName, RoundFigures>
}

/** An OTLP/HTTP receiver that takes everything and keeps nothing. */
async function startReceiver() {
  let bytes = 0
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => void (bytes += chunk.length))
    request.on('end', () => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    close: () => new Promise((resolve) => void server.close(resolve)),
  }
}
