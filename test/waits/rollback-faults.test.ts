import { expect, test } from 'vitest'
import { defineWorkflow, InvalidStateError, NonRetryableError } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { useDatabase } from '../support/database.ts'
import { loseClaim } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

test('WAIT-06: a rollback that fails is tried again; one that fails for good is on record, and the others run', async () => {
  const client = openClient(database)
  const tries: string[] = []
  const saga = defineWorkflow({
    name: 'fails to undo',
    handler: async (_, run) => {
      const step = (name: string, rollback: () => void): Promise<string> =>
        run.step(name, () => name, {
          rollback: () => {
            tries.push(name)
            rollback()
          },
          retry: { initial: '1ms', jitter: 0, maxTries: 3 },
        })
      await step('fine', () => undefined)
      await step('never', () => {
        throw new Error('never')
      })
      await step('refuses', () => {
        throw new NonRetryableError('not at all')
      })
      await step('second', () => {
        if (tries.filter((name) => name === 'second').length === 1) throw new Error('once')
      })
      return run.fail('undo it')
    },
  })
  await startWorker(database, { workflows: [saga] })
  const started = await client.start(saga)
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected' })
  await expect.poll(async () => (await client.get(started))?.rollback?.state).toBe('failed')
  const { rollback } = (await client.get(started)) ?? {}
  expect(rollback).toMatchObject({ undone: ['second', 'fine'], failed: ['refuses', 'never'] })
  expect(tries).toEqual(['second', 'second', 'refuses', 'never', 'never', 'never', 'fine'])
  const undoing = await client.get(rollback?.run ?? '')
  expect(undoing).toMatchObject({ attempt: 1, reason: '2 of 4 rollbacks failed: refuses, never.' })
})

test('WAIT-06: a worker lost between rollbacks costs none that was kept', async () => {
  const client = openClient(database)
  const undone: string[] = []
  const [entered, held] = [signal(), signal()]
  const saga = defineWorkflow({
    name: 'is lost',
    lease: '1.5s',
    handler: async (_, run) => {
      for (const name of ['a', 'b', 'c']) {
        await run.step(name, () => name, {
          rollback: async () => {
            undone.push(name)
            if (undone.length !== 2) return
            entered.give()
            await held.promise
          },
        })
      }
      return run.fail('undo it')
    },
  })
  await startWorker(database, { workflows: [saga] })
  const started = await client.start(saga)
  await entered.promise
  const { rollback } = (await client.get(started)) ?? {}
  await loseClaim(database, rollback?.run ?? '')
  await expect
    .poll(async () => (await client.get(started))?.rollback)
    .toMatchObject({ state: 'done', undone: ['c', 'b', 'a'] })
  held.give()
  expect(undone).toEqual(['c', 'b', 'b', 'a'])
})

test('WAIT-06: a retry is refused while steps are being undone; after it runs again what was undone, and nothing else', async () => {
  const client = openClient(database)
  const bodies: string[] = []
  const [entered, enough] = [signal(), signal()]
  let isWell = false
  const saga = defineWorkflow({
    name: 'is retried',
    handler: async (_, run) => {
      const step = (name: string, rollback?: () => unknown): Promise<string> =>
        run.step(
          name,
          () => {
            bodies.push(name)
            return name
          },
          { rollback, retry: { maxTries: 1 } },
        )
      await step('kept')
      await step('stuck', () => {
        throw new NonRetryableError('cannot be undone')
      })
      await step('undone', async () => {
        entered.give()
        await enough.promise
      })
      return isWell ? 'well' : run.fail('not well')
    },
  })
  await startWorker(database, { workflows: [saga] })
  const started = await client.start(saga)
  await expect(client.result(started)).rejects.toMatchObject({ failure: 'rejected' })
  await entered.promise
  await expect(client.retry(started)).rejects.toBeInstanceOf(InvalidStateError)
  expect((await client.get(started))?.state).toBe('failed')
  enough.give()
  await expect.poll(async () => (await client.get(started))?.rollback?.state).toBe('failed')
  isWell = true
  await client.retry(started)
  expect(await client.result(started)).toBe('well')
  expect(bodies).toEqual(['kept', 'stuck', 'undone', 'undone'])
})

test('WAIT-06: a run that fails again after a retry undoes all that it has kept by then', async () => {
  const client = openClient(database)
  const did: string[] = []
  const saga = defineWorkflow({
    name: 'fails twice',
    handler: async (_, run) => {
      const step = (name: string): Promise<void> =>
        run.step(name, () => void did.push(`do ${name}`), { rollback: () => void did.push(`undo ${name}`) })
      await step('a')
      if (did.includes('undo a')) await step('b')
      return run.fail('no')
    },
  })
  await startWorker(database, { workflows: [saga] })
  const started = await client.start(saga)
  await expect.poll(async () => (await client.get(started))?.rollback?.state).toBe('done')
  await client.retry(started)
  await expect.poll(() => did.length).toBe(6)
  expect(did).toEqual(['do a', 'undo a', 'do a', 'do b', 'undo b', 'undo a'])
  await expect
    .poll(async () => (await client.get(started))?.rollback)
    .toMatchObject({ state: 'done', undone: ['b', 'a'] })
})

test('WAIT-06: rollbacks of limited runs take their turns under the limit', async () => {
  const client = openClient(database)
  let underWay = 0
  let highest = 0
  const saga = defineWorkflow({
    name: 'is limited',
    group: () => 'one',
    concurrency: { perGroup: 1 },
    handler: async (_, run) => {
      await run.step('a', () => 'a', {
        rollback: async () => {
          underWay += 1
          highest = Math.max(highest, underWay)
          await systemClock.sleep(5)
          underWay -= 1
        },
      })
      return run.fail('undo it')
    },
  })
  await startWorker(database, { workflows: [saga] })
  const runs = await Promise.all(Array.from({ length: 8 }, () => client.start(saga)))
  for (const run of runs) {
    await expect.poll(async () => (await client.get(run))?.rollback).toMatchObject({ state: 'done', undone: ['a'] })
  }
  expect(highest).toBe(1)
})
