import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Database } from '../../src/db/database.ts'
import { defineWorkflow, type Workflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { scheduledRuns } from '../support/schedules.ts'
import { HandClient } from '../support/variant.ts'
import { useCluster } from '../support/use-cluster.ts'
import { fastTimings, openClient, rareLooks, recordingLogger, startWorker } from '../support/worker.ts'

const database = useDatabase()
const cluster = useCluster()
const module = new URL('scheduled-workflows.ts', import.meta.url)

test('WAIT-04: a worker starts a run every second, on time, which reads what it is for', async () => {
  const fired: string[] = []
  const workflow = defineWorkflow({
    name: 'on time',
    input: z.object({ report: z.string() }),
    schedule: { every: '1s', overlap: 'allow', input: { report: 'sales' } },
    handler: ({ report }, run) => void fired.push(`${report} ${run.metadata['scheduledFor']}`),
  })
  const log = recordingLogger()
  const timings = rareLooks
  await startWorker(database, { workflows: [workflow], logger: log, timings })
  await startWorker(database, { workflows: [workflow], logger: log, timings })
  await vi.waitFor(() => expect(fired.length).toBeGreaterThanOrEqual(3), 15_000)
  const { rows } = await database.query<{ late: number }>(
    `select extract(epoch from created_at - due_at)::float8 as late from holdfast.runs where workflow = 'on time'`,
  )
  for (const { late } of rows) expect(late).toBeGreaterThanOrEqual(0)
  const instants = (await scheduledRuns(database, 'on time')).map((run) => Date.parse(run.for))
  expect(instants).toEqual(instants.map((_, n) => instants[0]! + n * 1_000))
  expect(fired[0]).toBe(`sales ${new Date(instants[0]!).toISOString()}`)
  expect(log.lines.find(({ message }) => message === 'A scheduled run was started.')).toMatchObject({
    level: 'info',
    fields: { workflow: 'on time', scheduledFor: new Date(instants[0]!).toISOString() },
  })
})

test('WAIT-04: what was queued starts at once after the last run has ended', async () => {
  let end: () => void = () => undefined
  const isEnded = new Promise<void>((resolve) => void (end = resolve))
  const workflow = defineWorkflow({
    name: 'queued here',
    schedule: { every: '1s', overlap: 'queue' },
    handler: () => isEnded,
  })
  // Nobody looks again by itself before an instant comes.
  await startWorker(database, { workflows: [workflow], timings: { ...fastTimings, lookMs: 3_600_000 } })
  const queued = async (): Promise<{ queued_at: string | null; last_at: string }> => {
    const { rows } = await database.query<{ queued_at: string | null; last_at: string }>(
      `select queued_at::text, last_at::text from holdfast.schedules where workflow = 'queued here'`,
    )
    return rows[0]!
  }
  await vi.waitFor(async () => expect((await queued()).queued_at).not.toBeNull(), 10_000)
  expect(await scheduledRuns(database, 'queued here')).toHaveLength(1)
  await database.query(
    `update holdfast.schedules set next_at = next_at + interval '1 h' where workflow = 'queued here'`,
  )
  end()
  await vi.waitFor(async () => expect(await scheduledRuns(database, 'queued here')).toHaveLength(2), 15_000)
})

class AskedDatabase extends Database {
  static readonly asked: string[] = []
  override async call<Row>(fn: string, values: readonly unknown[]): Promise<Row[]> {
    AskedDatabase.asked.push(fn)
    return await super.call<Row>(fn, values)
  }
}

test('a worker without a scheduled workflow asks nothing about schedules', async () => {
  const bare = defineWorkflow({ name: 'bare', handler: () => 1 })
  const client = openClient(database)
  const worker = await startWorker(database, { workflows: [bare], kind: AskedDatabase })
  await client.result(await client.start(bare))
  await vi.waitFor(
    () => expect(AskedDatabase.asked.filter((fn) => fn === 'promote_due').length).toBeGreaterThan(2),
    10_000,
  )
  await worker.stop()
  expect(AskedDatabase.asked).not.toContain('due_schedules')
})

test('OPS-07: a worker is refused whose schedule starts no run, before anything is on record', async () => {
  const wrong: Workflow = defineWorkflow({
    name: 'wrong input',
    input: z.string().min(3),
    schedule: { every: '1h', input: 'ab' },
    handler: () => 1,
  })
  await expect(startWorker(database, { workflows: [wrong] })).rejects.toMatchObject({
    code: 'CONFIG',
    field: 'schedule.input',
  })
  expect((await database.query(`select from holdfast.definitions where workflow = 'wrong input'`)).rows).toEqual([])
})

/** Each instant has one run at the most, whatever happened meanwhile. */
async function expectOnce(query: (sql: string) => Promise<{ rows: unknown[] }>): Promise<void> {
  const { rows } = await query(
    `select metadata ->> 'scheduledFor' from holdfast.runs where workflow = 'every second' group by 1 having count(*) > 1`,
  )
  expect(rows).toEqual([])
}

test('WAIT-04, C13, G10: a process that was frozen fires on, once for each instant', async () => {
  const frozen = await forkWorker(database, { module })
  await frozen.hear('fired')
  const countRuns = async (): Promise<number> => (await scheduledRuns(database, 'every second')).length
  frozen.freeze()
  const before = await countRuns()
  // So that it finds a stretch that nobody looked at.
  await database.query(
    `update holdfast.schedules set past_at = past_at - interval '1 h', next_at = next_at - interval '1 h', turn = turn + 1
     where workflow = 'every second'`,
  )
  frozen.thaw()
  await vi.waitFor(async () => expect(await countRuns()).toBeGreaterThanOrEqual(before + 3), 20_000)
  // Of the hour no more than what was still on time.
  expect(await countRuns()).toBeLessThan(before + 40)
  await expectOnce((sql) => database.query(sql))
}, 40_000)

test('WAIT-04, G12: after the database was away schedules fire on, once for each instant', async () => {
  const worker = await forkWorker(cluster, { module })
  await worker.hear('fired')
  await cluster.stop('immediate')
  await cluster.start()
  const told = worker.told.length
  await vi.waitFor(() => expect(worker.told.length).toBeGreaterThanOrEqual(told + 3), 30_000)
  expect(worker.isAlive).toBe(true)
  const session = new HandClient(cluster.connectionString)
  await session.connect()
  await expectOnce((sql) => session.query(sql))
  await session.end()
}, 60_000)
