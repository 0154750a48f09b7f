/** The latency suite: every work on an idle system, the peers taking turns run by run. */
import { playLatencyRound, type LatencyFigures, type Percentiles } from './latency-round.ts'
import { median, round } from './measure.ts'
import { timedPeerNames, type TimedPeerName, type Work } from './peers/peer.ts'
import { startServer, type Server } from './postgres.ts'

export interface LatencyOptions {
  readonly works: readonly Work[]
  readonly rounds: number
  readonly runs: number | undefined
  readonly peers: readonly TimedPeerName[]
}

interface LatencyCell extends LatencyFigures {
  /** Null if graphile did not take part. */
  readonly vs_graphile: LatencyFigures | null
  readonly peers: { readonly graphile?: LatencyFigures }
}

export interface LatencyResult {
  readonly suite: 'latency'
  readonly node: string
  readonly postgres: string
  readonly results: Partial<Record<Work, LatencyCell>>
}

/** The 99th percentile is then the fourth worst. */
const defaultRuns = 300

type Rounds = Record<TimedPeerName, LatencyFigures[]>

export async function runLatency(options: LatencyOptions, say: (line: string) => void): Promise<LatencyResult> {
  const server = await startServer()
  try {
    const results: LatencyResult['results'] = {}
    for (const work of options.works) results[work] = cellOf(await playRounds(server, options, work, say))
    return { suite: 'latency', node: process.versions.node, postgres: server.version, results }
  } finally {
    await server.stop()
  }
}

async function playRounds(
  server: Server,
  options: LatencyOptions,
  work: Work,
  say: (line: string) => void,
): Promise<Rounds> {
  const peers = timedPeerNames.filter((name) => options.peers.includes(name))
  const rounds: Rounds = { graphile: [], holdfast: [] }
  for (let number = 1; number <= options.rounds; number++) {
    const played = await playLatencyRound(server, peers, { work, runs: options.runs ?? defaultRuns })
    for (const peer of peers) {
      const figures = played[peer]
      if (!figures) continue
      rounds[peer].push(figures)
      say(`${work}, round ${number}, ${peer}: ${describe(figures)}`)
    }
  }
  return rounds
}

function cellOf({ holdfast, graphile }: Rounds): LatencyCell {
  const ratios = holdfast.flatMap((ours, index) => {
    const theirs = graphile[index]
    return theirs ? [mapFigures((span, percentile) => quotient(ours[span][percentile], theirs[span][percentile]))] : []
  })
  return {
    ...mediansOf(holdfast, 2),
    vs_graphile: ratios.length > 0 ? mediansOf(ratios, 3) : null,
    peers: { ...(graphile.length > 0 && { graphile: mediansOf(graphile, 2) }) },
  }
}

function mediansOf(rounds: readonly LatencyFigures[], digits: number): LatencyFigures {
  return mapFigures((span, percentile) => {
    const known = rounds.map((one) => one[span][percentile]).filter((value) => value !== null)
    return round(median(known), digits)
  })
}

function mapFigures(fn: (span: keyof LatencyFigures, percentile: keyof Percentiles) => number | null): LatencyFigures {
  const both = (span: keyof LatencyFigures): Percentiles => ({ p50: fn(span, 'p50'), p99: fn(span, 'p99') })
  return {
    start_ms: both('start_ms'),
    start_to_handler_ms: both('start_to_handler_ms'),
    start_to_result_ms: both('start_to_result_ms'),
  }
}

function quotient(ours: number | null, theirs: number | null): number | null {
  return ours === null || theirs === null ? null : ours / theirs
}

function describe(figures: LatencyFigures): string {
  const pair = ({ p50, p99 }: Percentiles): string => `${p50} / ${p99}`
  const { start_ms: start, start_to_handler_ms: handler, start_to_result_ms: result } = figures
  return `start ${pair(start)}, to handler ${pair(handler)}, to result ${pair(result)} ms (p50 / p99)`
}
