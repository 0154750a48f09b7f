import { z } from 'zod'
import { defineWorkflow, type Client, type Logger } from '../../src/index.ts'
import type { WorkerTelemetry } from '../../src/trace/tracing.ts'
import type { TestDatabase } from '../support/database.ts'
import { openClient, recordingLogger, startWorker, type LogLine } from '../support/worker.ts'

/** What runs do and what starts answer, to be compared with the same under another telemetry. */

export interface Work {
  /** Of each run: what it answered, what it kept, and how its claims ended. */
  readonly deeds: readonly unknown[]
  /** How often each body was called. */
  readonly calls: Readonly<Record<string, number>>
  readonly lines: readonly LogLine[]
}

const fail = (message: string): never => {
  throw new Error(message)
}

function workflowsThatCount(calls: Record<string, number>) {
  const called = (body: string): number => (calls[body] = (calls[body] ?? 0) + 1)
  const child = defineWorkflow({
    name: 'child',
    handler: (_, run) => run.step('own', () => called('own') && 'a child'),
  })
  const order = defineWorkflow({
    name: 'order',
    retry: { initial: '1ms', jitter: 0 },
    maxAttempts: 3,
    handler: async (_, run) => {
      called('handler')
      const returned = await run.step('returns', () => called('returns') && 'returned')
      const retried = await run.step(
        'retried',
        (step) => (called('retried') && step.try === 1 ? fail('The first try.') : `try ${step.try}`),
        { retry: { initial: '1ms', jitter: 0 } },
      )
      const caught = await run
        .step('fails', () => called('fails') && fail('Caught.'))
        .catch((error: unknown) => (error as Error).message)
      const { rows } = await run.transaction('reads', (tx) => {
        called('reads')
        return tx.query('select 7 as seven').then(({ rows: [row] }) => ({ rows: [row] as { seven: number }[] }))
      })
      const both = await run.map('both', [1, 2], (item) => run.step('one', () => called('one') && item))
      run.log.info({ caught }, 'A line of the handler.')
      await run.start(child)
      if (run.attempt === 1) fail('The first attempt.')
      return { returned, retried, caught, rows, both, attempt: run.attempt }
    },
  })
  return { order, child }
}

/** Two runs of all that handlers do, each through two attempts, by a worker with that telemetry. */
export async function work(database: TestDatabase, telemetryOf?: (log: Logger) => WorkerTelemetry): Promise<Work> {
  const calls: Record<string, number> = {}
  const { order, child } = workflowsThatCount(calls)
  const logger = recordingLogger()
  const telemetry = telemetryOf?.(logger)
  const worker = await startWorker(database, { workflows: [order, child], logger, ...(telemetry && { telemetry }) })
  const client = openClient(database)
  const runs = await client.startMany(order, [{}, {}])
  const deeds = await Promise.all(runs.map((run) => deedOf(database, client, run.id)))
  await worker.stop()
  return { deeds, calls, lines: logger.lines }
}

async function deedOf(database: TestDatabase, client: Client, id: string): Promise<unknown> {
  const output = await client.result(id)
  const rowsOf = async (sql: string): Promise<unknown[]> => (await database.query(sql, [id])).rows
  const children = (await rowsOf('select id from holdfast.runs where parent_id = $1')) as { id: string }[]
  return {
    output,
    steps: await rowsOf('select key, kind, tries, attempt from holdfast.steps where run_id = $1 order by key'),
    claims: await rowsOf(
      'select token, attempt, outcome, recalled, reason from holdfast.all_claims where run_id = $1 order by token',
    ),
    children: await Promise.all(children.map((child) => client.result(child.id))),
  }
}

const shelved = defineWorkflow({ name: 'shelved', input: z.number(), handler: () => undefined })

/** Starts of every kind, of runs that nobody works off. */
export async function startAll(database: TestDatabase, client: Client): Promise<unknown> {
  const key = `key of ${(await client.start(shelved, 0)).id}`
  const states = async (ids: readonly { readonly id: string }[]): Promise<unknown[]> =>
    await Promise.all(ids.map(async ({ id }) => (await client.get(id))?.state))
  const one = await client.start(shelved, 1, { key })
  const again = await client.start(shelved, 1, { key })
  const other = await client.start(shelved, 2, { key }).catch(nameOf)
  const wrong = await client.start(shelved, 'one' as never).catch(nameOf)
  const together = await Promise.all([3, 4, 5].map((input) => client.start(shelved, input)))
  const many = await client.startMany(shelved, [{ input: 6 }, { input: 7, key }]).catch(nameOf)
  const all = await client.startMany(shelved, [{ input: 6 }, { input: 1, key }])
  const each = await client.startMany(shelved, [{ input: 8 }, { input: 'nine' as never }], { mode: 'each' })
  const session = await database.pool.connect()
  await session.query('begin')
  const committed = [
    await client.start(shelved, 10, { tx: session }),
    ...(await client.startMany(shelved, [{ input: 11 }, { input: 12 }], { tx: session })),
  ]
  await session.query('commit')
  await session.query('begin')
  const undone = await client.start(shelved, 13, { tx: session })
  await session.query('rollback')
  session.release()
  return {
    created: [one, again, ...together, ...all, ...committed, undone].map((run) => run.created),
    isSame: one.id === again.id && again.id === all[1]?.id,
    refused: [other, wrong, many],
    each: each.map((answer) => ('error' in answer ? answer.error.name : answer.created)),
    states: await states([one, ...together, ...all, ...committed, undone]),
  }
}

const nameOf = (error: unknown): string => (error as Error).name
