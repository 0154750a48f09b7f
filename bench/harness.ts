/**
 * One round: a fresh database, a fresh worker process, one peer. Enqueueing is timed apart; the work is timed from
 * telling the loaded worker to start until the database says that every run is done.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { cpuOfTree, walBytes, type RoundFigures } from './measure.ts'
import { roundPeers } from './peers/index.ts'
import type { TracingName } from './peers/tracing.ts'
import { stepsOf, type Load, type Peer, type PeerName, type Work } from './peers/peer.ts'
import { withDatabase, withFreshDatabase, type Server } from './postgres.ts'
import { WorkerHandle } from './worker-handle.ts'

export interface RoundOptions {
  readonly peer: PeerName | TracingName
  readonly work: Work
  readonly slots: number
  readonly runs: number
  /** A file for the worker process's CPU profile. */
  readonly profile: string | undefined
  /** Where spans go. */
  readonly otlp?: string
}

const phasePatienceMs = 180_000
const pollMs = 10

export async function playRound(server: Server, options: RoundOptions): Promise<RoundFigures> {
  return withFreshDatabase(server, (connectionString) =>
    withDatabase(connectionString, async (database) => {
      const { work, slots, runs, otlp } = options
      const load: Load = { work, slots, runs, steps: stepsOf[work], connectionString, otlp }
      const client = await roundPeers[options.peer].openClient(load)
      try {
        const enqueueMs = await timed(() => client.enqueue())
        await database.query('analyze')
        return { enqueue_s: (runs / enqueueMs) * 1000, ...(await playWork(server, database, options, load)) }
      } finally {
        await client.close()
      }
    }),
  )
}

async function playWork(
  server: Server,
  database: pg.Client,
  options: RoundOptions,
  load: Load,
): Promise<Omit<RoundFigures, 'enqueue_s'>> {
  const peer = roundPeers[options.peer]
  const worker = new WorkerHandle(options.profile)
  try {
    await worker.load(options.peer, load)
    const walBefore = await walBytes(database)
    const postgresBefore = cpuOfTree(server.pid)
    const workerBefore = await worker.cpuMs()

    const workMs = await timed(async () => {
      await patiently(worker.work())
      await untilDone(peer, database, load)
    })

    const workerCpu = (await worker.cpuMs()) - workerBefore
    const postgresAfter = cpuOfTree(server.pid)
    const walAfter = await walBytes(database)
    await worker.stop()
    await checkSteps(peer, database, load)
    return {
      runs_s: (load.runs / workMs) * 1000,
      worker_cpu_ms: (workerCpu / load.runs) * 1000,
      postgres_cpu_ms:
        postgresBefore === null || postgresAfter === null
          ? null
          : ((postgresAfter - postgresBefore) / load.runs) * 1000,
      wal_bytes: (walAfter - walBefore) / load.runs,
    }
  } finally {
    await worker.kill()
  }
}

async function untilDone(peer: Peer, database: pg.Client, load: Load): Promise<void> {
  const giveUpAt = performance.now() + phasePatienceMs
  for (;;) {
    const done = await peer.countDone(database, load)
    if (done >= load.runs) return
    if (performance.now() > giveUpAt) throw new Error(`Only ${done} of ${load.runs} runs were done in time.`)
    await sleep(pollMs)
  }
}

/** A peer that kept fewer answers than it was given did less work than the others. */
export async function checkSteps(peer: Peer, database: pg.Client, load: Load): Promise<void> {
  const kept = await peer.countSteps(database)
  const expected = load.runs * load.steps
  if (kept !== undefined && kept !== expected) throw new Error(`${kept} step answers were kept, not ${expected}.`)
}

export async function timed(fn: () => Promise<void>): Promise<number> {
  const begunAt = performance.now()
  await fn()
  return performance.now() - begunAt
}

export async function patiently<T>(work: Promise<T>): Promise<T> {
  const given = new AbortController()
  const late = sleep(phasePatienceMs, undefined, { signal: given.signal }).then((): never => {
    throw new Error('The worker did not finish its runs in time.')
  })
  try {
    return await Promise.race([work, late])
  } finally {
    given.abort()
    late.catch(() => {})
  }
}
