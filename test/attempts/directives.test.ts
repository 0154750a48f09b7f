import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
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
      await tx.query('insert into public.written values ($1, $2)', [run.id, run.attempt])
      return make(run)
    }),
  'thrown by a transaction': (run, make) =>
    run.transaction('steer', async (tx) => {
      await tx.query('insert into public.written values ($1, $2)', [run.id, run.attempt])
      throw make(run)
    }),
}

test('TRY-08: a directive works returned and thrown by handler, step and transaction, and keeps nothing of what made it', async () => {
  const bodies = new Map<string, number>()
  const steered = defineWorkflow({
    name: 'steered',
    input: z.object({ way: z.string(), kind: z.string() }),
    handler: async ({ way, kind }, run) => {
      if (bodies.has(run.id)) return run.step('steer', () => `done at attempt ${run.attempt}`)
      return await ways[way]?.(run, (it) => {
        bodies.set(run.id, (bodies.get(run.id) ?? 0) + 1)
        return directives[kind]?.(it) ?? it.fail(`no ${kind}`)
      })
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [steered], timings: quickTimings })
  const cases = Object.keys(ways).flatMap((way) => Object.keys(directives).map((kind) => ({ way, kind })))
  const runs = await Promise.all(cases.map(async (input) => ({ input, run: await client.start(steered, input) })))
  for (const { input, run } of runs) {
    const isFinal = input.kind === 'fail'
    const record = await reached(database, run, { state: isFinal ? 'failed' : 'scheduled' })
    expect({ ...input, ...record, bodies: bodies.get(run.id) }).toMatchObject({
      ...input,
      attempt: 1,
      reason: 'because',
      failure: isFinal ? 'rejected' : null,
      ...(isFinal ? {} : { waitMs: 5_400_000 }),
      bodies: 1,
    })
  }
  expect((await database.query(`select * from holdfast.steps where key = 'steer'`)).rows).toEqual([])
  expect((await database.query('select * from written')).rows).toEqual([])

  for (const { input, run } of runs) {
    if (input.kind === 'fail') continue
    await makeDue(database, run)
    const output = await client.result(run)
    expect({ ...input, output }).toEqual({ ...input, output: `done at attempt ${input.kind === 'retry' ? 2 : 1}` })
  }
})

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

const badDurations = [NaN, -1, '5x', 1e20, '', '-1s', Infinity, null, {}] as never[]

test('TRY-08: a bad duration is a typed error before any row is written', async () => {
  const client = openClient(database)
  const patient = defineWorkflow({ name: 'patient', handler: () => 'ran' })
  for (const delay of badDurations) {
    const refusal: unknown = await client.start(patient, undefined, { delay }).catch((error: unknown) => error)
    expect({ delay, refusal }).toMatchObject({ delay, refusal: { code: 'DURATION', field: 'delay' } })
  }
  expect(await countRuns(database, patient)).toBe(0)

  let bodies = 0
  const body = (): void => void bodies++
  const asking = defineWorkflow({
    name: 'asking',
    handler: async (_, run) => {
      for (const value of badDurations) {
        const refusals: unknown[] = []
        for (const ask of [
          () => run.retry(value),
          () => run.snooze(value),
          () => run.step('timed', body, { timeout: value }),
          () => run.step('tried', body, { retry: { initial: value } }),
        ]) {
          try {
            await ask()
          } catch (error) {
            refusals.push(error instanceof DurationError && error.field)
          }
        }
        expect({ value, refusals }).toEqual({ value, refusals: ['after', 'after', 'timeout', 'retry.initial'] })
      }
      return 'all refused'
    },
  })
  await startWorker(database, { workflows: [asking], timings: quickTimings })
  const run = await client.start(asking, undefined, { maxAttempts: 1 })
  expect(await client.result(run)).toBe('all refused')
  expect(bodies).toBe(0)
  expect((await database.query('select * from holdfast.steps where run_id = $1', [run.id])).rows).toEqual([])
})
