import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

test('RUN-10: get shows state, attempt, due time, progress, group and last error, from start to end', async () => {
  const [entered, go] = [signal(), signal()]
  const shown = defineWorkflow({
    name: 'shown',
    input: z.object({ tenant: z.string() }),
    group: ({ tenant }) => tenant,
    retry: { initial: '1h', jitter: 0 },
    handler: async (_, run) => {
      if (run.attempt === 1) throw new RangeError('too far')
      run.progress({ half: true })
      entered.give()
      await go.promise
      return 'over'
    },
  })
  const client = openClient(database)
  const at = new Date(Date.now() + 3_600_000)
  const options = { key: 'shown', priority: 7, metadata: { by: 'test' }, maxAttempts: 3, at }
  const run = await client.start(shown, { tenant: 'acme' }, options)
  const known = {
    id: run.id,
    workflow: 'shown',
    key: 'shown',
    group: 'acme',
    priority: 7,
    maxAttempts: 3,
    metadata: { by: 'test' },
    input: { tenant: 'acme' },
  }
  const nothing = { output: undefined, progress: undefined, failure: undefined, lastError: undefined }
  expect(await client.get(run)).toMatchObject({ ...known, ...nothing, state: 'scheduled', attempt: 0, dueAt: at })

  const makeDue = () => database.query('update holdfast.runs set due_at = now() where id = $1', [run.id])
  await makeDue()
  await startWorker(database, { workflows: [shown] })
  await expect.poll(async () => (await client.get(run))?.lastError).toBeInstanceOf(Error)
  const thrown = await client.get({ workflow: shown, key: 'shown' })
  expect(thrown).toMatchObject({
    ...known,
    state: 'scheduled',
    attempt: 1,
    lastError: { name: 'RangeError', message: 'too far' },
    claimedAt: expect.any(Date) as Date,
    endedAt: undefined,
  })
  expect(Math.round((thrown!.dueAt!.getTime() - thrown!.claimedAt!.getTime()) / 60_000)).toBe(60)

  await makeDue()
  await entered.promise
  await expect.poll(async () => (await client.get(run))?.progress).toEqual({ half: true })
  expect(await client.get(run)).toMatchObject({
    ...known,
    state: 'running',
    attempt: 2,
    workerId: expect.any(String) as string,
    leaseUntil: expect.any(Date) as Date,
  })
  go.give()
  await client.result(run)
  expect(await client.get(run.id)).toMatchObject({
    ...known,
    state: 'done',
    attempt: 2,
    output: 'over',
    progress: { half: true },
    // The last it met, whatever came of it.
    lastError: { name: 'RangeError' },
    endedAt: expect.any(Date) as Date,
  })
})

test('RUN-10: get answers undefined for an id or key that names no run', async () => {
  const client = openClient(database)
  expect(await client.get(randomUUID())).toBeUndefined()
  expect(await client.get({ workflow: 'nobody', key: 'none' })).toBeUndefined()
})

test.each([
  ['no id', 'seven', 'run'],
  ['a number', 7, 'run'],
  ['nothing', undefined, 'run'],
  ['a key without its workflow', { key: 'k' }, 'run'],
  ['a key that no row can hold', { workflow: 'w', key: 'a\0b' }, 'run.key'],
  ['a name that no row can hold', { workflow: 'w\uD800', key: 'k' }, 'run.workflow'],
])('RUN-10: %s in the place of a run is refused by every call that takes one', async (_, run, field) => {
  const client = openClient(database)
  const refusal = { code: 'ARGUMENT', field }
  for (const call of ['get', 'result', 'cancel', 'retry', 'delete'] as const) {
    await expect(client[call](run as never)).rejects.toMatchObject(refusal)
  }
  await expect(client.watch(run as never).next()).rejects.toMatchObject(refusal)
})
