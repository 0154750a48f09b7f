/** One side of one round of the limits suite: a fresh database, with a backlog or without, and a fresh worker process. */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { patiently, timed } from './harness.ts'
import { isAllOver } from './limits-backlog.ts'
import { cpuOfTree } from './measure.ts'
import { openLimited } from './peers/limited.ts'
import { count, type LimitedLoad, type Load } from './peers/peer.ts'
import { withDatabase, withFreshDatabase, type Server } from './postgres.ts'
import { WorkerHandle } from './worker-handle.ts'

export interface Side extends LimitedLoad {
  readonly slots: number
  readonly runs: number
  /** Whether a full group of `limited` has its runs set aside all the while. */
  readonly hasBacklog: boolean
}

export interface SideFigures {
  readonly runs_s: number
  /** Processor milliseconds of the worker and of Postgres per 1,000 runs; null where they cannot be read. */
  readonly cpu_ms: number | null
}

const pollMs = 5

/** `backlog`: the database to begin with a copy of, if the side has a backlog. */
export async function playSide(server: Server, backlog: string, side: Side): Promise<SideFigures> {
  const { slots, runs, hasBacklog, ...limited } = side
  const play = (connectionString: string) =>
    withDatabase(connectionString, async (database) => {
      const load: Load = { work: 'W0', steps: 0, slots, runs, connectionString, limited }
      const client = await openLimited(load)
      try {
        await client.enqueue()
      } finally {
        await client.close()
      }
      await database.query('analyze')
      return playWork(server, database, load)
    })
  return withFreshDatabase(server, play, hasBacklog ? backlog : undefined)
}

async function playWork(server: Server, database: pg.Client, load: Load): Promise<SideFigures> {
  const worker = new WorkerHandle(undefined)
  try {
    await worker.load('limited', load)
    const cpuMs = async (): Promise<number> => (await worker.cpuMs()) + (cpuOfTree(server.pid) ?? Number.NaN)
    const cpuBefore = await cpuMs()
    const workMs = await timed(async () => {
      await patiently(worker.work())
      while (!(await isAllOver(database))) await sleep(pollMs)
    })
    const cpu = (((await cpuMs()) - cpuBefore) / load.runs) * 1000
    await worker.stop()
    const done = await count(database, `select count(*) from holdfast.runs where state = 'done'`)
    if (done !== load.runs) throw new Error(`${done} runs were done, not ${load.runs}.`)
    return { runs_s: (load.runs / workMs) * 1000, cpu_ms: Number.isNaN(cpu) ? null : cpu }
  } finally {
    await worker.kill()
  }
}
