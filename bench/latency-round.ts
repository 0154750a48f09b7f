/**
 * One latency round: each peer with a fresh database and a fresh worker process, and one run at a time in all of them
 * together. They take turns run by run, so that whatever else the machine does meets all alike; a worker whose turn it
 * is not waits for work as it would in production. The next run follows when the output of the last is here, after a
 * pause of chance, so that runs meet every phase of whatever timers there are.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkSteps, patiently } from './harness.ts'
import { instant } from './instant.ts'
import { percentile, round } from './measure.ts'
import { timedPeers } from './peers/index.ts'
import { stepsOf, type Load, type PeerStarter, type TimedPeerName, type Work } from './peers/peer.ts'
import { withDatabase, withFreshDatabase, type Server } from './postgres.ts'
import { WorkerHandle } from './worker-handle.ts'

export interface LatencyRoundOptions {
  readonly work: Work
  /** Of each peer. */
  readonly runs: number
}

export interface Percentiles {
  readonly p50: number | null
  readonly p99: number | null
}

/** Each from the moment the start is called, in milliseconds. */
export interface LatencyFigures {
  /** Until the run is durable. */
  readonly start_ms: Percentiles
  readonly start_to_handler_ms: Percentiles
  /** Until its output is here. */
  readonly start_to_result_ms: Percentiles
}

/** Not counted: they meet cold caches and code that is not compiled yet. */
const warmUps = 50
const slots = 16
const shortestPauseMs = 5
const longestPauseMs = 30

export type PeerFigures = Partial<Record<TimedPeerName, LatencyFigures>>

export async function playLatencyRound(
  server: Server,
  peers: readonly TimedPeerName[],
  { work, runs }: LatencyRoundOptions,
): Promise<PeerFigures> {
  return withPlayers(server, peers, { work, runs: warmUps + runs }, async (players) => {
    for (let run = 0; run < warmUps + runs; run++) {
      for (const { starter, timed } of players) {
        timed.push(await patiently(playRun(starter, run)))
        await sleep(shortestPauseMs + Math.random() * (longestPauseMs - shortestPauseMs))
      }
    }
    const figures: PeerFigures = {}
    for (const { name, timed, worker } of players) {
      figures[name] = figuresOf(timed.slice(warmUps), await worker.begunAt())
    }
    return figures
  })
}

interface Player {
  readonly name: TimedPeerName
  readonly starter: PeerStarter
  readonly worker: WorkerHandle
  readonly timed: Timed[]
}

interface Timed {
  readonly run: number
  readonly calledAt: number
  readonly startedAt: number
  readonly endedAt: number
}

function withPlayers<T>(
  server: Server,
  [name, ...others]: readonly TimedPeerName[],
  options: LatencyRoundOptions,
  fn: (players: readonly Player[]) => Promise<T>,
): Promise<T> {
  if (name === undefined) return fn([])
  return withPlayer(server, name, options, (player) =>
    withPlayers(server, others, options, (rest) => fn([player, ...rest])),
  )
}

async function withPlayer<T>(
  server: Server,
  name: TimedPeerName,
  { work, runs }: LatencyRoundOptions,
  fn: (player: Player) => Promise<T>,
): Promise<T> {
  return withFreshDatabase(server, async (connectionString) => {
    const peer = timedPeers[name]
    const load: Load = { work, slots, runs, steps: stepsOf[work], connectionString }
    const starter = await peer.openStarter(load)
    const worker = new WorkerHandle(undefined)
    try {
      await worker.load(name, load)
      await worker.start()
      const result = await fn({ name, starter, worker, timed: [] })
      await worker.stop()
      await withDatabase(connectionString, (database) => checkSteps(peer, database, load))
      return result
    } finally {
      await worker.kill()
      await starter.close()
    }
  })
}

async function playRun(starter: PeerStarter, run: number): Promise<Timed> {
  const calledAt = instant()
  const result = await starter.start(run)
  const startedAt = instant()
  await result()
  return { run, calledAt, startedAt, endedAt: instant() }
}

function figuresOf(timed: readonly Timed[], begunAt: Readonly<Record<number, number>>): LatencyFigures {
  const since = (until: (one: Timed) => number): Percentiles => {
    const spans = timed.map((one) => until(one) - one.calledAt)
    return { p50: round(percentile(spans, 50), 2), p99: round(percentile(spans, 99), 2) }
  }
  return {
    start_ms: since(({ startedAt }) => startedAt),
    start_to_handler_ms: since(({ run }) => begunAt[run] ?? Number.NaN),
    start_to_result_ms: since(({ endedAt }) => endedAt),
  }
}
