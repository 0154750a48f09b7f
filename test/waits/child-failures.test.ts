import { expect, test } from 'vitest'
import { z } from 'zod'
import { ChildFailedError, defineWorkflow, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { becomes } from '../support/waiting.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

class Declined extends Error {
  readonly cents: number
  constructor(cents: number) {
    super(`declined ${cents}`)
    this.name = 'Declined'
    this.cents = cents
  }
}

const fails = defineWorkflow({
  name: 'fails',
  input: z.enum(['throws', 'says', 'waits']),
  maxAttempts: 1,
  errors: [Declined],
  handler: async (how, run) => {
    if (how === 'throws') throw new Declined(7)
    if (how === 'says') return run.fail('said so', { cause: new Declined(8) })
    return await run.waitFor('never')
  },
})

/** What a handler can tell of an error. */
function traits(error: unknown): unknown {
  if (!(error instanceof ChildFailedError)) return error
  const { cause, failure, workflow, code, name, retryable } = error
  const inner = cause instanceof Declined ? [cause.name, cause.message, cause.cents] : undefined
  return { failure, workflow, code, name, retryable, inner, isUuid: error.runId.length === 36 }
}

test('WAIT-03: a child that fails is a ChildFailedError with its cause, class and fields, the same on every replay', async () => {
  const client = openClient(database)
  const seen: unknown[][] = []
  const parent = defineWorkflow({
    name: 'catches',
    errors: [Declined],
    handler: async (_, run) => {
      const round: unknown[] = []
      seen.push(round)
      round.push(traits(await run.call(fails, 'throws').catch((error: unknown) => error)))
      round.push(traits(await run.call(fails, 'says').catch((error: unknown) => error)))
      await run.sleep('nap', 10)
      return round
    },
  })
  await startWorker(database, { workflows: [fails, parent] })
  const shape = { workflow: 'fails', code: 'CHILD_FAILED', name: 'ChildFailedError', retryable: false, isUuid: true }
  const both = [
    { ...shape, failure: 'attempts_exhausted', inner: ['Declined', 'declined 7', 7] },
    { ...shape, failure: 'rejected', inner: ['Declined', 'declined 8', 8] },
  ]
  expect(await client.result(await client.start(parent))).toEqual(both)
  expect(seen).toEqual([[], both.slice(0, 1), both, both])
})

test('WAIT-03: a child that is cancelled is a ChildFailedError without a failure', async () => {
  const client = openClient(database)
  const parent = defineWorkflow({
    name: 'sees a cancel',
    handler: async (_, run) =>
      traits(await run.call(fails, 'waits', { key: 'lives' }).catch((error: unknown) => error)),
  })
  await startWorker(database, { workflows: [fails, parent] })
  const started = await client.start(parent)
  await becomes(client, started, 'suspended')
  await client.cancel({ workflow: fails, key: 'lives' }, { reason: 'no more' })
  expect(await client.result(started)).toMatchObject({ code: 'CHILD_FAILED', failure: undefined, inner: undefined })
})

test('WAIT-03: a failure that nobody catches fails the parent, with no further attempt', async () => {
  const client = openClient(database)
  const parent = defineWorkflow({ name: 'lets it through', handler: (_, run) => run.call(fails, 'throws') })
  await startWorker(database, { workflows: [fails, parent] })
  const started = await client.start(parent)
  await expect(client.result(started)).rejects.toMatchObject({
    failure: 'rejected',
    cause: { code: 'CHILD_FAILED', cause: { name: 'Declined' } },
  })
  expect((await client.get(started))?.attempt).toBe(1)
})

test('WAIT-03: a retry of a parent makes a child anew for the call that failed, and keeps the answers of the others', async () => {
  const client = openClient(database)
  let isWell = false
  const recovers = defineWorkflow({
    name: 'recovers',
    input: z.string(),
    handler: (name, run) => (isWell || name === 'good' ? run.id : run.fail('not well')),
  })
  const parent = defineWorkflow({
    name: 'is retried',
    handler: async (_, run) => [await run.call(recovers, 'good'), await run.call(recovers, 'bad')],
  })
  await startWorker(database, { workflows: [recovers, parent] })
  const started = await client.start(parent)
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected' })
  isWell = true
  await client.retry(started)
  const answers = await client.result(started)
  const { rows } = await database.query<{ id: string; state: string }>(
    'select id, state from holdfast.runs where parent_id = $1 order by created_at, id',
    [started.id],
  )
  expect(rows.map(({ state }) => state)).toEqual(['done', 'failed', 'done'])
  expect(answers).toEqual([rows[0]?.id, rows[2]?.id])
})

test('WAIT-03: a retried parent meets the run that its call names by key as it is now', async () => {
  const client = openClient(database)
  let isWell = false
  const recovers = defineWorkflow({
    name: 'recovers by itself',
    handler: (_, run) => (isWell ? 'well' : run.fail('not well')),
  })
  const call = (run: Run): Promise<string> => run.call(recovers, undefined, { key: 'shared' })
  const parent = defineWorkflow({ name: 'is retried too', handler: (_, run) => call(run) })
  await startWorker(database, { workflows: [recovers, parent] })
  const started = await client.start(parent)
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected' })
  // As it is: failed still.
  await client.retry(started)
  await expect(client.result(started, { timeout: '10s' })).rejects.toMatchObject({ failure: 'rejected' })
  isWell = true
  await client.retry({ workflow: recovers, key: 'shared' })
  await client.result({ workflow: recovers, key: 'shared' })
  await client.retry(started)
  expect(await client.result(started, { timeout: '10s' })).toBe('well')
})
