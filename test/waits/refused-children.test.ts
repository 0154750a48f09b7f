import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  ArgumentError,
  defineWorkflow,
  InvalidInputError,
  KeyReusedError,
  QueueFullError,
  UnserializableError,
  type Run,
} from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const full = defineWorkflow({ name: 'full', maxWaiting: 1, handler: () => undefined })
const takes = defineWorkflow({ name: 'takes', input: z.number(), handler: () => undefined })
const anything = defineWorkflow({ name: 'anything', input: z.unknown(), handler: () => undefined })

const refusals: Readonly<Record<string, readonly [(run: Run) => Promise<unknown>, new (...args: never[]) => Error]>> = {
  'whose workflow is full': [(run) => run.call(full), QueueFullError],
  'whose input does not fit': [(run) => run.call(takes, 'none' as never), InvalidInputError],
  'whose key names a run of another input': [(run) => run.start(takes, 2, { key: 'one' }), KeyReusedError],
  'whose input cannot be kept': [(run) => run.call(anything, () => 1), UnserializableError],
  'that is given an id': [(run) => run.call(takes, 1, { id: 'x' } as never), ArgumentError],
  'of no workflow': [(run) => run.start({ name: 'none' } as never), ArgumentError],
}

test.each(Object.entries(refusals))(
  'WAIT-03: a child %s is a typed error, and every replay takes the same branch',
  async (name, [ask, Class]) => {
    const client = openClient(database)
    const seen: unknown[] = []
    const parent = defineWorkflow({
      name: `parent of one ${name}`,
      handler: async (_, run) => {
        const error = await ask(run).catch((thrown: unknown) => thrown)
        seen.push(error instanceof Class && [error.name, error.message])
        // The way is free by now; the branch is the same.
        await run.step('free the way', async () => {
          await database.query(`delete from holdfast.runs where workflow in ('full', 'takes')`)
        })
        await run.sleep('nap', 10)
        return await ask(run).then(
          () => 'started',
          () => 'refused',
        )
      },
    })
    await client.start(full)
    await client.start(takes, 1, { key: 'one' })
    await startWorker(database, { workflows: [parent] })
    const started = await client.start(parent)
    await expect.poll(() => seen.length).toBe(2)
    expect(seen[0]).toEqual([Class.name, expect.any(String) as string])
    expect(seen[1]).toEqual(seen[0])
    // The last question began a child.
    await client.cancel(started)
    await client.result(started).catch(() => undefined)
    await database.query(`delete from holdfast.runs where workflow in ('full', 'takes')`)
    await database.query(`delete from holdfast.keys`)
  },
)

test('WAIT-03: a child that was refused and let through is asked for again by the next attempt', async () => {
  const client = openClient(database)
  const parent = defineWorkflow({
    name: 'asks again',
    retry: { initial: '10ms', jitter: 0 },
    handler: async (_, run) => {
      if (run.attempt === 2) await database.query(`delete from holdfast.runs where workflow = 'full'`)
      await run.start(full)
      return run.attempt
    },
  })
  await database.query(`delete from holdfast.runs where workflow = 'full'`)
  await client.start(full)
  await startWorker(database, { workflows: [parent] })
  expect(await client.result(await client.start(parent))).toBe(2)
})
