import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { HandClient, isPointless } from '../support/variant.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()
const later = defineWorkflow({ name: 'later', handler: () => 'ran' })
const isDeaf = isPointless('no-notify', 'without NOTIFY a worker hears of a cancel when it renews')

test('RUN-13: cancel ends a waiting, scheduled or suspended run at once, and no handler runs', async () => {
  const client = openClient(database)
  const [waiting, scheduled] = [await client.start(later), await client.start(later, undefined, { delay: '1h' })]
  for (const run of [waiting, scheduled]) {
    expect(await client.cancel(run, { reason: 'not wanted' })).toMatchObject({
      state: 'cancelled',
      reason: 'not wanted',
    })
    await expect(client.result(run)).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  }
  await startWorker(database, { workflows: [later] })
  expect(await client.result(await client.start(later))).toBe('ran')
  expect(await client.get(waiting)).toMatchObject({ state: 'cancelled', attempt: 0 })
})

test.skipIf(isDeaf)(
  'RUN-13: a running handler hears of it within a second, and what it answers settles nothing',
  async () => {
    const [entered, aborted, go] = [signal(), signal<unknown>(), signal()]
    const running = defineWorkflow({
      name: 'running',
      handler: async (_, run) => {
        run.abortSignal.addEventListener('abort', () => aborted.give(run.abortSignal.reason))
        entered.give()
        await go.promise
        return 'too late'
      },
    })
    const worker = await startWorker(database, { workflows: [running], concurrency: 1 })
    const client = openClient(database)
    const run = await client.start(running)
    await entered.promise
    await client.cancel(run)
    // Its lease of 30 s is renewed after 15 s: sooner than that it can only have been told.
    expect(await aborted.promise).toMatchObject({ code: 'RUN_CANCELLED' })
    go.give()
    await worker.stop()
    expect(await client.get(run)).toMatchObject({ state: 'cancelled', output: undefined })
  },
)

test('P6: a cancel in a transaction is none if it rolls back, and is carried out once it commits', async () => {
  const client = openClient(database)
  const run = await client.start(later, undefined, { delay: '1h' })
  const tx = new HandClient({ connectionString: database.connectionString })
  await tx.connect()
  await startWorker(database, { workflows: [later] })
  await tx.query('begin')
  expect(await client.cancel(run, { tx, reason: 'never mind' })).toMatchObject({ state: 'scheduled' })
  await tx.query('rollback')
  await tx.query('begin')
  await client.cancel(run, { tx, reason: 'meant' })
  // It locks no run: whoever else wants to may go on.
  await database.query('select from holdfast.runs where id = $1 for update nowait', [run.id])
  expect(await client.get(run)).toMatchObject({ state: 'scheduled' })
  await tx.query('commit')
  await expect(client.result(run)).rejects.toThrow('meant')
  await tx.end()
})

test('P6: a run whose cancel has been asked for is not claimed any more', async () => {
  const client = openClient(database)
  const run = await client.start(later)
  await client.cancel(run, { tx: database.pool })
  await startWorker(database, { workflows: [later] })
  await expect(client.result(run)).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  expect(await client.get(run)).toMatchObject({ attempt: 0 })
})
