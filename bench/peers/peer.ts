/**
 * What every peer of a round must be able to do. The harness's process is the client, a fresh child process is the
 * worker.
 */
import type pg from 'pg'

export const works = ['W0', 'W1', 'W3', 'W10'] as const
export type Work = (typeof works)[number]

export const peerNames = ['ceiling', 'graphile', 'holdfast'] as const
export type PeerName = (typeof peerNames)[number]

export const stepsOf: Readonly<Record<Work, number>> = { W0: 0, W1: 1, W3: 3, W10: 10 }

export interface Load {
  readonly work: Work
  readonly steps: number
  /** How many runs the worker may have in flight. */
  readonly slots: number
  readonly runs: number
  /** The round's own fresh database. */
  readonly connectionString: string
  /** In the tracing suite: where spans go. */
  readonly otlp?: string | undefined
  /** In the limits suite. */
  readonly limited?: LimitedLoad
}

const limitedNames = ['limited', 'free'] as const
type LimitedName = (typeof limitedNames)[number]

export interface LimitedLoad {
  /** What the worker has. The runs are the first one's. */
  readonly workflows: readonly LimitedName[]
  /** Runs go round these in turn. */
  readonly groups: number
  /** The handler of each run whose number this divides waits for the harness. */
  readonly gateEvery?: number
}

export interface PeerClient {
  /** Makes `load.runs` runs durable, the best bulk way this peer has. */
  enqueue(): Promise<void>
  close(): Promise<void>
}

/** Starts runs one at a time, and waits for the end of each. */
export interface PeerStarter {
  /** Resolves when the run is durable. What it answers resolves when the run's output is here and durable. */
  start(run: number): Promise<() => Promise<unknown>>
  close(): Promise<void>
}

export interface PeerWorker {
  stop(): Promise<void>
}

/** What a handler calls, in the worker process. */
export interface HandlerCalls {
  begun(run: number): void
  finished(): void
  /** Resolves when the harness opens the gate. */
  gate(run: number): Promise<void>
}

/** What a worker process needs of whom it plays. */
export interface WorkerSide {
  /** Called before the clock starts: loads what it will run. */
  prepareWorker?(): Promise<unknown>
  /** Makes the calls at the beginning and the end of every handler. */
  startWorker(load: Load, calls: HandlerCalls): Promise<PeerWorker>
}

export interface Peer extends WorkerSide {
  /** Migrates the empty database and connects. */
  openClient(load: Load): Promise<PeerClient>
  /** How many runs are durably done. */
  countDone(database: pg.Client, load: Load): Promise<number>
  /** How many step answers are kept; undefined for a peer that has no steps. */
  countSteps(database: pg.Client): Promise<number | undefined>
}

/** A peer whose starters learn of their runs' ends. */
export const timedPeerNames = ['graphile', 'holdfast'] as const
export type TimedPeerName = (typeof timedPeerNames)[number]

export interface TimedPeer extends Peer {
  /** As `openClient`. */
  openStarter(load: Load): Promise<PeerStarter>
}

export interface StepAnswer {
  readonly ok: true
  readonly run: number
  readonly step: number
}

/** The body of every step of every peer. */
export async function stepBody(run: number, step: number): Promise<StepAnswer> {
  return { ok: true, run, step }
}

export async function count(database: pg.Client, sql: string): Promise<number> {
  const { rows } = await database.query<{ count: string }>(sql)
  return Number(rows[0]?.count)
}

/** Calls `fn(0)` … `fn(total - 1)`, at most `width` at once. */
export async function inLanes(total: number, width: number, fn: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < total) await fn(next++)
  }
  await Promise.all(Array.from({ length: Math.min(total, width) }, lane))
}

/** Cuts 0 … total - 1 into chunks of at most `size` and gives each chunk's numbers to `fn`, `width` chunks at once. */
export async function inChunks(
  total: number,
  size: number,
  width: number,
  fn: (numbers: readonly number[]) => Promise<unknown>,
): Promise<void> {
  await inLanes(Math.ceil(total / size), width, (chunk) => {
    const first = chunk * size
    return fn(Array.from({ length: Math.min(size, total - first) }, (_, index) => first + index))
  })
}
