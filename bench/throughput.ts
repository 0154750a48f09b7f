/** The throughput suite: every work at every number of slots, the peers taking turns within each round. */
import { join } from 'node:path'
import { playRound } from './harness.ts'
import { mediansOf, ratioOf, type Medians, type RoundFigures } from './measure.ts'
import { peerNames, type PeerName, type Work } from './peers/peer.ts'
import { startServer, type Server } from './postgres.ts'

export interface ThroughputOptions {
  readonly works: readonly Work[]
  readonly slots: readonly number[]
  readonly rounds: number
  readonly runs: number | undefined
  readonly peers: readonly PeerName[]
  readonly profileFolder: string | undefined
}

/** Holdfast's own medians, its ratios, and the raw medians of the others; null for a peer that did not take part. */
interface Cell extends Medians {
  readonly vs_graphile: number | null
  readonly vs_ceiling: number | null
  readonly peers: Partial<Record<Exclude<PeerName, 'holdfast'>, Medians>>
}

export interface ThroughputResult {
  readonly suite: 'throughput'
  readonly node: string
  readonly postgres: string
  readonly results: Partial<Record<Work, Record<string, Cell>>>
}

/**
 * The same for every peer. A round takes 3 to 20 seconds: in shorter ones much of the worker's processor time goes to
 * the compiler of JavaScript, which it meets once in its life.
 */
const defaultRuns: Readonly<Record<Work, number>> = { W0: 80_000, W1: 60_000, W3: 60_000, W10: 20_000 }

type Rounds = Record<PeerName, RoundFigures[]>

export async function runThroughput(
  options: ThroughputOptions,
  say: (line: string) => void,
): Promise<ThroughputResult> {
  const server = await startServer()
  try {
    const results: ThroughputResult['results'] = {}
    for (const work of options.works) {
      const cells: Record<string, Cell> = {}
      for (const slots of options.slots) cells[slots] = cellOf(await playRounds(server, options, work, slots, say))
      results[work] = cells
    }
    return { suite: 'throughput', node: process.versions.node, postgres: server.version, results }
  } finally {
    await server.stop()
  }
}

async function playRounds(
  server: Server,
  options: ThroughputOptions,
  work: Work,
  slots: number,
  say: (line: string) => void,
): Promise<Rounds> {
  const rounds: Rounds = { ceiling: [], graphile: [], holdfast: [] }
  for (let number = 1; number <= options.rounds; number++) {
    for (const peer of peerNames.filter((name) => options.peers.includes(name))) {
      const runs = options.runs ?? defaultRuns[work] / (slots < 64 ? 2 : 1)
      const profile =
        options.profileFolder && join(options.profileFolder, `${work}-${slots}-${peer}-${number}.cpuprofile`)
      const figures = await playRound(server, { peer, work, slots, runs, profile })
      rounds[peer].push(figures)
      say(`${work} ${slots} slots, round ${number}, ${peer}: ${describe(mediansOf([figures]))}`)
    }
  }
  return rounds
}

function cellOf({ holdfast, ceiling, graphile }: Rounds): Cell {
  return {
    ...mediansOf(holdfast),
    vs_graphile: ratioOf(holdfast, graphile),
    vs_ceiling: ratioOf(holdfast, ceiling),
    peers: {
      ...(ceiling.length > 0 && { ceiling: mediansOf(ceiling) }),
      ...(graphile.length > 0 && { graphile: mediansOf(graphile) }),
    },
  }
}

function describe(figures: Medians): string {
  return [
    `${figures.runs_s} runs/s`,
    `enqueue ${figures.enqueue_s}/s`,
    `CPU ms/1k worker ${figures.worker_cpu_ms} postgres ${figures.postgres_cpu_ms ?? '-'}`,
    `WAL ${figures.wal_bytes} B/run`,
  ].join(', ')
}
