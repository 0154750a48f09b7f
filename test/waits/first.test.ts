import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineSignal, defineWorkflow, ChildFailedError, WaitTimeoutError } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const approved = defineSignal({ name: 'approved', schema: z.object({ by: z.string() }) })

test('sleep, signals, children, map, park, continue, roll back', async () => {
  const child = defineWorkflow({
    name: 'child',
    input: z.number(),
    handler: async (n, run) => {
      await run.sleep('nap', 50)
      if (n === 3) return run.fail('three')
      return n * 2
    },
  })
  const undone: string[] = []
  const main = defineWorkflow({
    name: 'main',
    handler: async (_, run) => {
      await run.sleep('short', 30)
      const { by } = await run.waitFor(approved)
      const late = await run.waitFor('never', { timeout: 50 }).catch((error: unknown) => error)
      const six = await run.call(child, 4)
      const failed = await run.call(child, 3).catch((error: unknown) => error)
      const all = await run.map('all', [1, 2, 3], async (n, i) => {
        await run.sleep('wait', 10)
        return await run.step('double', () => n * 2 + i)
      })
      const answer = await run.park('ask', { reason: 'May it?', schema: z.object({ ok: z.boolean() }) })
      return {
        by,
        late: late instanceof WaitTimeoutError,
        six,
        failed: failed instanceof ChildFailedError,
        all,
        answer,
      }
    },
  })
  const loop = defineWorkflow({
    name: 'loop',
    input: z.number(),
    handler: async (n, run) => {
      const word = await run.waitFor('word')
      if (n === 2) return word
      return run.continueAs(n + 1)
    },
  })
  const saga = defineWorkflow({
    name: 'saga',
    handler: async (_, run) => {
      await run.step('a', () => 1, { rollback: (answer) => void undone.push(`a${answer}`) })
      await run.step('b', () => 2, { rollback: (answer) => void undone.push(`b${answer}`) })
      await run.step('c', () => 3)
      return run.fail('no more')
    },
  })
  const log: unknown[] = []
  const logger = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [
      level,
      (fields: object, text: string) => log.push([level, text, fields]),
    ]),
  )
  await startWorker(database, { workflows: [child, main, loop, saga], logger: logger as never })
  const client = openClient(database)
  const started = await client.start(main)
  await client.signal(started, approved, { by: 'me' })
  await expect.poll(() => client.parked(), { timeout: 5_000 }).toMatchObject([{ step: 'ask', reason: 'May it?' }])
  await client.unpark(started, { ok: 'yes' })
  await expect.poll(() => client.parked(), { timeout: 5_000 }).toMatchObject([{ step: 'ask', reason: /May it.*ok/ }])
  await client.unpark(started, { ok: true })
  expect(await client.result(started)).toEqual({
    by: 'me',
    late: true,
    six: 8,
    failed: true,
    all: [2, 5, 8],
    answer: { ok: true },
  })
  const looping = await client.start(loop, 0, { key: 'k' })
  for (const word of ['x', 'y', 'z']) await client.signal({ workflow: loop, key: 'k' }, 'word', word)
  expect(await client.result(looping)).toBe('z')
  const failing = await client.start(saga)
  await expect(client.result(failing)).rejects.toThrow('no more')
  await expect
    .poll(async () => (await client.get(failing))?.rollback, { timeout: 5_000 })
    .toMatchObject({ state: 'done', undone: ['b', 'a'] })
  expect(undone).toEqual(['b2', 'a1'])
  console.log(
    JSON.stringify(
      log.filter((l) => (l as string[])[0] !== 'info'),
      (_, v) => (v instanceof Error ? v.stack : v),
      1,
    ),
  )
})
