import { expect, test } from 'vitest'
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

test.each(Object.entries(kinds))('TRY-06: %s fails the run at once, wherever it is thrown', async (kind, make) => {
  const bodies: Record<string, number> = {}
  const workflows = Object.entries(places).map(([place, thrower]) =>
    defineWorkflow({
      name: `${place} ${Object.keys(kinds).indexOf(kind)}`,
      retry: { nonRetryable: [Declined], initial: 0 },
      handler: (_, run) =>
        thrower(run, () => {
          bodies[place] = (bodies[place] ?? 0) + 1
          throw make()
        }),
    }),
  )
  const client = openClient(database)
  await startWorker(database, { workflows, timings: quickTimings })
  const runs = await Promise.all(workflows.map((workflow) => client.start(workflow)))
  for (const run of runs) {
    await expect(client.result(run)).rejects.toMatchObject({ failure: 'rejected', cause: { message: 'no use' } })
    expect(await recordOf(database, run)).toMatchObject({ state: 'failed', attempt: 1, reason: 'no use' })
  }
  expect(bodies).toEqual(Object.fromEntries(Object.keys(places).map((place) => [place, 1])))
})

test.each(Object.entries(kinds))(
  'TRY-06: %s that a step threw before a crash fails the run when a later claim throws it again',
  async (kind, make) => {
    const begun = signal()
    let bodies = 0
    let claims = 0
    const paying = defineWorkflow({
      name: `again ${Object.keys(kinds).indexOf(kind)}`,
      lease: '1.5s',
      retry: { nonRetryable: [Declined], initial: 0 },
      handler: async (_, run) => {
        const failure: unknown = await run
          .step('charge', () => {
            bodies++
            throw make()
          })
          .catch((error: unknown) => error)
        await run.step('note', () => 'it failed')
        if (++claims === 1) {
          begun.give()
          await new Promise(() => undefined)
        }
        throw new Error('not paid', { cause: failure })
      },
    })
    const client = openClient(database)
    await startWorker(database, { workflows: [paying], timings: quickTimings })
    const run = await client.start(paying)
    await begun.promise
    await loseWorker(database, run)
    await expect(client.result(run)).rejects.toMatchObject({ failure: 'rejected', cause: { message: 'not paid' } })
    expect(await recordOf(database, run)).toMatchObject({ state: 'failed', attempt: 2, failure: 'rejected' })
    expect({ bodies, claims }).toEqual({ bodies: 1, claims: 2 })
  },
)

test('TRY-06: run.fail fails the run now with its reason and cause, whether attempts are left over or not', async () => {
  const cause = Object.assign(new Error('card expired'), { code: 'E_CARD' })
  const failing = defineWorkflow({ name: 'failing', handler: (_, run) => run.fail('cannot be paid', { cause }) })
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
