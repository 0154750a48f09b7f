import { expect, test } from 'vitest'
import { defineWorkflow, NonRetryableError } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

test('what a retried rollback has undone is done again by a retry of its run, and get shows its latest rollback', async () => {
  const did: string[] = []
  let isStuck = true
  const saga = defineWorkflow({
    name: 'saga',
    maxAttempts: 1,
    handler: async (_, run) => {
      await run.step('a', () => void did.push('do a'), { rollback: () => void did.push('undo a') })
      await run.step('b', () => void did.push('do b'), {
        rollback: () => {
          did.push('undo b')
          if (isStuck) throw new NonRetryableError('stuck')
        },
      })
      throw new Error('no')
    },
  })
  await startWorker(database, { workflows: [saga] })
  const client = openClient(database)
  const rollbackOf = async (id: string, state: string) => {
    for await (const { rollback } of poll(() => client.get(id))) if (rollback?.state === state) return rollback
    throw new Error('It has no rollback.')
  }
  const { id } = await client.start(saga)
  const first = await rollbackOf(id, 'failed')
  expect(first).toMatchObject({ undone: ['a'], failed: ['b'] })
  isStuck = false
  await client.retry(first.run)
  expect(await client.result(first.run)).toEqual({ undone: ['b', 'a'] })
  expect(did.splice(0)).toEqual(['do a', 'do b', 'undo b', 'undo a', 'undo b'])

  await client.retry(id)
  await client.result(id).catch(() => undefined)
  const second = (await client.get(id))?.rollback
  expect(second?.run).not.toBe(first.run)
  await client.result(second?.run ?? '')
  expect(did).toEqual(['do a', 'do b', 'undo b', 'undo a'])
})

test('what undoes a run is not retried once that run has gone on', async () => {
  const did: string[] = []
  let isFailing = true
  const saga = defineWorkflow({
    name: 'saga that goes on',
    maxAttempts: 1,
    handler: async (_, run) => {
      await run.step('a', () => 1, {
        rollback: () => {
          did.push('undo a')
          throw new NonRetryableError('stuck')
        },
      })
      if (isFailing) throw new Error('no')
      return 'done'
    },
  })
  await startWorker(database, { workflows: [saga] })
  const client = openClient(database)
  const { id } = await client.start(saga)
  await client.result(id).catch(() => undefined)
  const undoing = (await client.get(id))?.rollback?.run ?? ''
  await client.result(undoing).catch(() => undefined)
  isFailing = false
  await client.retry(id)
  await expect(client.retry(undoing)).rejects.toMatchObject({ code: 'INVALID_STATE', field: 'run' })
  expect(await client.result(id)).toBe('done')
  await expect(client.retry(undoing)).rejects.toThrow('has gone on since')
  expect(did).toEqual(['undo a'])
})

/** What is asked again and again, until its reader leaves. */
async function* poll<T>(ask: () => Promise<T | undefined>): AsyncGenerator<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) yield answer
  }
}
