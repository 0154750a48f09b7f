/** A herd: sleepers that are all due at the same instant, and the one worker that is there for them. */
import type pg from 'pg'
import { patiently } from './harness.ts'
import { cpuOfTree } from './measure.ts'
import type { Load } from './peers/peer.ts'
import { withDatabase, type Server } from './postgres.ts'
import { copySleeper } from './waits-sleepers.ts'
import { WorkerHandle } from './worker-handle.ts'

const size = 10_000
/** Time enough to make them. */
const ahead = '5 s'
const slots = 64

export interface HerdFigures {
  /** How many milliseconds after that instant the last of them was claimed, by the database's clock. */
  readonly ms: number
  /** Processor milliseconds of the worker and of Postgres until all are done; NaN where they cannot be read. */
  readonly cpuMs: number
}

export async function playHerd(server: Server, connectionString: string, original: string): Promise<HerdFigures> {
  const load: Load = { work: 'W0', steps: 0, slots, runs: size, connectionString }
  return withDatabase(connectionString, async (database) => {
    const worker = new WorkerHandle(undefined)
    try {
      await worker.load('waits', load)
      await worker.start()
      const dueAt = await gather(database, original)
      const cpuMs = async (): Promise<number> => (await worker.cpuMs()) + (cpuOfTree(server.pid) ?? Number.NaN)
      const cpuBefore = await cpuMs()
      await patiently(worker.finish())
      const cpu = (await cpuMs()) - cpuBefore
      await worker.stop()
      return { ms: await lastBegan(database, dueAt), cpuMs: cpu }
    } finally {
      await worker.kill()
    }
  })
}

async function gather(database: pg.Client, original: string): Promise<string> {
  // Days are as long as each other there.
  await database.query(`set timezone to 'UTC'`)
  const { rows } = await database.query<{ due_at: string; stretch: string }>(
    `select n.due_at::text, (n.due_at - r.due_at)::text as stretch
     from holdfast.runs r cross join (select clock_timestamp() + interval '${ahead}' as due_at) n where r.id = $1`,
    [original],
  )
  const { due_at: dueAt = '', stretch = '' } = rows[0] ?? {}
  await copySleeper(database, original, `select interval '${stretch}' from generate_series(1, ${size})`)
  const { rowCount: late } = await database.query('select where clock_timestamp() > $1::timestamptz', [dueAt])
  if (late) throw new Error('The herd was due before it was there.')
  return dueAt
}

async function lastBegan(database: pg.Client, dueAt: string): Promise<number> {
  const { rows } = await database.query<{ done: string; early: string; ms: string }>(
    `select count(*) filter (where state = 'done') as done, count(*) filter (where claimed_at < due_at) as early,
       extract(epoch from max(claimed_at - due_at)) * 1000 as ms
     from holdfast.runs where due_at = $1::timestamptz`,
    [dueAt],
  )
  const { done, early, ms } = rows[0] ?? {}
  if (Number(done) !== size || Number(early) > 0) {
    throw new Error(`Of a herd of ${size}, ${done} were done, and ${early} were claimed before their time.`)
  }
  return Number(ms)
}
