import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, NonRetryableError, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { loseWorker, quickTimings, reached, recordOf } from './record.ts'

const database = useDatabase()

class Declined extends Error {}
class CardDeclined extends Declined {}
class Gone extends NonRetryableError {}

/** Errors after which trying again is of no use, each in a way of its own. */
const kinds: Readonly<Record<string, () => Error>> = {
  'a NonRetryableError': () => new NonRetryableError('no use'),
  'a subclass of it': () => new Gone('no use'),
  'an error with retryable: false': () => Object.assign(new Error('no use'), { retryable: false }),
  'a class in retry.nonRetryable': () => new Declined('no use'),
  'a subclass of that': () => new CardDeclined('no use'),
  'one as a cause of a cause': () =>
    new Error('no use', { cause: new Error('inner', { cause: new Declined('innermost') }) }),
  'one among the errors of an AggregateError': () =>
    new AggregateError([new Error('a try'), new NonRetryableError('another')], 'no use'),
}

type Thrower = (run: Run, fail: () => never) => Promise<unknown>

const helper = async (fail: () => never): Promise<never> => {
  await Promise.resolve()
  return fail()
}

/** Where it is thrown. */
const places: Readonly<Record<string, Thrower>> = {
  handler: (_, fail) => helper(fail),
  step: (run, fail) => run.step('charge', fail),
  nested: (run, fail) => run.step('charge', () => helper(() => helper(fail) as never)),
  parallel: (run, fail) => Promise.all([run.step('look', () => 1), run.step('charge', fail), run.step('see', () => 2)]),
  transaction: (run, fail) => run.transaction('charge', () => helper(fail)),
  patient: (run, fail) => run.step('charge', fail, { retry: { maxTries: 5, initial: 0 } }),
}

test('TRY-06: an error after which no try is of use fails the run at once, in whatever form and wherever it is thrown', async () => {
  const bodies = new Map<string, number>()
  const failing = defineWorkflow({
    name: 'failing',
    input: z.object({ kind: z.string(), place: z.string() }),
    retry: { nonRetryable: [Declined], initial: 0 },
    handler: ({ kind, place }, run) =>
      places[place]?.(run, () => {
        bodies.set(run.id, (bodies.get(run.id) ?? 0) + 1)
        throw kinds[kind]?.() ?? new Error(`no ${kind}`)
      }),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [failing], timings: quickTimings })
  const cases = Object.keys(kinds).flatMap((kind) => Object.keys(places).map((place) => ({ kind, place })))
  const runs = await Promise.all(cases.map(async (input) => ({ input, run: await client.start(failing, input) })))
  for (const { input, run } of runs) {
    const thrown: unknown = await client.result(run).catch((error: unknown) => error)
    const record = await recordOf(database, run)
    expect({ ...input, bodies: bodies.get(run.id), thrown, record }).toMatchObject({
      ...input,
      bodies: 1,
      thrown: { failure: 'rejected', cause: { message: 'no use' } },
      record: { state: 'failed', attempt: 1, reason: 'no use' },
    })
  }
})

test('TRY-06: such an error of a step, thrown again by a later claim after a crash, fails the run', async () => {
  const begun = new Map(Object.keys(kinds).map((kind) => [kind, signal()]))
  const bodies: string[] = []
  const paying = defineWorkflow({
    name: 'paying',
    input: z.string(),
    lease: '1.5s',
    retry: { nonRetryable: [Declined], initial: 0 },
    handler: async (kind, run) => {
      const failure: unknown = await run
        .step('charge', () => {
          bodies.push(kind)
          throw kinds[kind]?.() ?? new Error(`no ${kind}`)
        })
        .catch((error: unknown) => error)
      await run.step('note', () => 'it failed')
      if (run.attempt === 1) {
        begun.get(kind)?.give()
        await new Promise(() => undefined)
      }
      throw new Error('not paid', { cause: failure })
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [paying], timings: quickTimings })
  const runs = await Promise.all(
    Object.keys(kinds).map(async (kind) => ({ kind, run: await client.start(paying, kind) })),
  )
  await Promise.all(Array.from(begun.values(), ({ promise }) => promise))
  for (const { run } of runs) await loseWorker(database, run)
  for (const { kind, run } of runs) {
    await client.result(run).catch(() => undefined)
    expect({ kind, ...(await recordOf(database, run)) }).toMatchObject({
      kind,
      state: 'failed',
      attempt: 2,
      failure: 'rejected',
      reason: 'not paid',
    })
  }
  expect(bodies.toSorted()).toEqual(Object.keys(kinds).toSorted())
})

test('TRY-06: run.fail fails the run now with its reason and cause, whether attempts are left over or not', async () => {
  const cause = Object.assign(new Error('card expired'), { code: 'E_CARD' })
  const failing = defineWorkflow({ name: 'giving-up', handler: (_, run) => run.fail('cannot be paid', { cause }) })
  const client = openClient(database)
  await startWorker(database, { workflows: [failing], timings: quickTimings })
  const first = await client.start(failing)
  const last = await client.start(failing, undefined, { maxAttempts: 1 })
  for (const run of [first, last]) {
    await expect(client.result(run)).rejects.toMatchObject({
      failure: 'rejected',
      cause: { message: 'card expired', code: 'E_CARD' },
    })
    expect(await client.get(run)).toMatchObject({ state: 'failed', attempt: 1, reason: 'cannot be paid' })
  }
})

test('TRY-06: an error that only looks like one of these retries', async () => {
  class Unlisted extends Error {}
  const alike = [
    Object.assign(new Error('retryable: true'), { retryable: true }),
    Object.assign(new Error("retryable: 'false'"), { retryable: 'false' }),
    Object.assign(new Error('retryable: undefined'), { retryable: undefined }),
    new Unlisted('a class that is not listed'),
  ]
  const retrying = defineWorkflow({
    name: 'retrying',
    retry: { nonRetryable: [Declined], initial: 0 },
    maxAttempts: alike.length + 1,
    handler: (_, run) => {
      const error = alike[run.attempt - 1]
      if (error) throw error
      return run.attempt
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [retrying], timings: quickTimings })
  const run = await client.start(retrying)
  await reached(database, run, { state: 'done', attempt: alike.length + 1 })
})
