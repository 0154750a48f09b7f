import { inspect } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { defineWorkflow, DurationError, UnusedDirectiveError, type Directive, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { countRuns, makeDue, quickTimings, reached } from './record.ts'

const database = useDatabase()

beforeAll(async () => {
  await database.query('create table written (run_id uuid primary key, attempt integer)')
})

const directives: Readonly<Record<string, (run: Run) => Directive>> = {
  retry: (run) => run.retry('1h30m', 'because'),
  snooze: (run) => run.snooze(5_400_000, 'because'),
  fail: (run) => run.fail('because'),
}

/** Steers by `make` at its first claim from one place, and is done at its second. */
type Way = (run: Run, make: (run: Run) => Directive) => Promise<unknown>

const ways: Readonly<Record<string, Way>> = {
  'returned by the handler': (run, make) => Promise.resolve(make(run)),
  'thrown by the handler': (run, make) => Promise.reject(make(run)),
  'returned by a step': (run, make) => run.step('steer', () => make(run)),
  'thrown by a step': (run, make) => run.step('steer', () => Promise.reject(make(run))),
  'thrown by a step that has a retry policy': (run, make) =>
    run.step('steer', () => Promise.reject(make(run)), { retry: { maxTries: 5, initial: 0 } }),
  'returned by a parallel step': async (run, make) => {
    await Promise.all([run.step('beside', () => 1), run.step('steer', () => make(run))])
  },
  'returned by a transaction': (run, make) =>
    run.transaction('steer', async (tx) => {
      await tx.query('insert into written values ($1, $2)', [run.id, run.attempt])
      return make(run)
    }),
  'thrown by a transaction': (run, make) =>
    run.transaction('steer', async (tx) => {
      await tx.query('insert into written values ($1, $2)', [run.id, run.attempt])
      throw make(run)
    }),
}

test.each(Object.entries(ways))(
  'TRY-08: a directive works %s, and keeps nothing of what made it',
  async (way, steer) => {
    let bodies = 0
    const workflows = Object.entries(directives).map(([kind, make]) => {
      let claims = 0
      return defineWorkflow({
        name: `${kind} ${Object.keys(ways).indexOf(way)}`,
        handler: async (_, run) => {
          if (++claims > 1) return run.step('steer', () => `done at attempt ${run.attempt}`)
          return await steer(run, (it) => {
            bodies++
            return make(it)
          })
        },
      })
    })
    const client = openClient(database)
    await startWorker(database, { workflows, timings: quickTimings })
    const [retried, snoozed, failed] = await Promise.all(workflows.map((workflow) => client.start(workflow)))
    if (!retried || !snoozed || !failed) throw new Error('three were started')
    const pending = { attempt: 1, waitMs: 5_400_000, reason: 'because' }
    expect(await reached(database, retried, { state: 'scheduled' })).toMatchObject(pending)
    expect(await reached(database, snoozed, { state: 'scheduled' })).toMatchObject(pending)
    expect(await reached(database, failed, { state: 'failed' })).toMatchObject({
      failure: 'rejected',
      reason: 'because',
      attempt: 1,
    })
    expect(bodies).toBe(3)

    const kept = await database.query(`select key from holdfast.steps where run_id = any($1) and key = 'steer'`, [
      [retried.id, snoozed.id, failed.id],
    ])
    expect(kept.rows).toEqual([])
    expect((await database.query('select * from written')).rows).toEqual([])

    await makeDue(database, retried)
    await makeDue(database, snoozed)
    expect(await client.result(retried)).toBe('done at attempt 2')
    expect(await client.result(snoozed)).toBe('done at attempt 1')
  },
)

test.each<[string, (run: Run) => unknown]>([
  ['made and dropped', (run) => void run.retry('1h')],
  ['made beside another answer', (run) => [run.fail('no'), 1][1]],
  ['put into the answer', (run) => ({ steer: run.snooze('1h') })],
  ['caught', (run) => run.step('steer', () => run.fail('no')).catch(() => 'went past it')],
])('TRY-08: a directive that is %s fails with UnusedDirectiveError', async (how, handle) => {
  const dropping = defineWorkflow({
    name: `dropping ${how}`,
    maxAttempts: 1,
    handler: (_, run) => handle(run),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [dropping], timings: quickTimings })
  const run = await client.start(dropping)
  const error: unknown = await client.result(run).catch((thrown: Error) => thrown.cause)
  expect(error).toBeInstanceOf(UnusedDirectiveError)
  expect(error).toMatchObject({ code: 'UNUSED_DIRECTIVE', message: expect.stringMatching(/run\.\w+\(/) as string })
})

const badDurations = [NaN, -1, '5x', 1e20, '', '-1s', Infinity, null, {}]

test.each(badDurations.map((value) => [inspect(value), value as never] as const))(
  'TRY-08: a duration of %s is a typed error before any row is written',
  async (_, value) => {
    const patient = defineWorkflow({ name: 'patient', handler: () => 'ran' })
    const client = openClient(database)
    await expect(client.start(patient, undefined, { delay: value })).rejects.toMatchObject({
      code: 'DURATION',
      field: 'delay',
    })
    expect(await countRuns(database, patient)).toBe(0)

    let bodies = 0
    const refusals: unknown[] = []
    const asking = defineWorkflow({
      name: 'asking',
      handler: async (_input, run) => {
        const body = (): void => void bodies++
        for (const ask of [
          () => run.retry(value),
          () => run.snooze(value),
          () => run.step('timed', body, { timeout: value }),
          () => run.step('tried', body, { retry: { initial: value } }),
        ]) {
          try {
            await ask()
          } catch (error) {
            refusals.push(error)
          }
        }
      },
    })
    await startWorker(database, { workflows: [asking], timings: quickTimings })
    const run = await client.start(asking)
    await client.result(run)
    expect(refusals.map((error) => error instanceof DurationError && error.field)).toEqual([
      'after',
      'after',
      'timeout',
      'retry.initial',
    ])
    expect(bodies).toBe(0)
    const { rows } = await database.query('select key from holdfast.steps where run_id = $1', [run.id])
    expect(rows).toEqual([])
  },
)
