import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { endsOfClaims } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { DrivenRun } from '../steps/driven-run.ts'

const database = useDatabase()

test('STEP-07: fifty parallel sleeps, each followed by a step, all finish, and every replay goes the same way', async () => {
  const client = openClient(database)
  const bodies: string[] = []
  const orders: string[][] = []
  const sleeps = defineWorkflow({
    name: 'sleeps in parallel',
    handler: async (_, run) => {
      const order: string[] = []
      orders.push(order)
      const one = async (n: number): Promise<number> => {
        await run.sleep(`nap ${n}`, (n * 37) % 500)
        order.push(`woke ${n}`)
        const answer = await run.step(`step ${n}`, () => {
          bodies.push(`step ${n}`)
          return n
        })
        order.push(`did ${n}`)
        return answer
      }
      return await Promise.all(Array.from({ length: 50 }, (__, n) => one(n)))
    },
  })
  await startWorker(database, { workflows: [sleeps] })
  const started = await client.start(sleeps)
  expect(await client.result(started)).toEqual(Array.from({ length: 50 }, (_, n) => n))
  expect(bodies.toSorted()).toEqual(Array.from({ length: 50 }, (_, n) => `step ${n}`).toSorted())
  // What a claim saw last may not have been durable as the next began; what two of them saw is in one order.
  const last = orders.at(-1) ?? []
  for (const order of orders) expect(last.slice(0, order.length)).toEqual(order)
  expect((await endsOfClaims(database, started.id)).filter((end) => end !== 'suspended')).toEqual(['done'])
})

test('A10: of a race each body runs once, and the loser is kept beside what follows', async () => {
  const client = openClient(database)
  const counts: Record<string, number> = {}
  const slow = signal()
  const count = (name: string): number => (counts[name] = (counts[name] ?? 0) + 1)
  const races = defineWorkflow({
    name: 'races',
    handler: async (_, run) => {
      const loser = run.step('c', async () => {
        count('c')
        await slow.promise
      })
      await Promise.race([run.step('a', () => count('a')), loser])
      await run.step('b', () => count('b'))
      slow.give()
      await loser
      await run.sleep('nap', 10)
    },
  })
  await startWorker(database, { workflows: [races] })
  await client.result(await client.start(races))
  expect(counts).toEqual({ a: 1, b: 1, c: 1 })
})

test('WAIT-03: a parent whose process dies around each of its calls has one child for each', async () => {
  const child = defineWorkflow({ name: 'child', input: z.number(), handler: (n) => n * 10 })
  await startWorker(database, { workflows: [child] })
  const parent = defineWorkflow({
    name: 'parent',
    maxAttempts: 100,
    retry: { initial: 0 },
    handler: async (_, run) => {
      const one = await run.call(child, 1)
      const rest = await Promise.all([run.call(child, 2), run.start(child, 3), run.step('beside', () => 'beside')])
      return [one, rest[0], rest[2]]
    },
  })
  for (let memo = 1; memo <= 5; memo += 1) {
    for (const when of ['before', 'after'] as const) {
      const run = await DrivenRun.start(database, parent)
      const ending = await run.toEnd(parent, [{ memo, when }])
      expect(ending.outcome).toMatchObject({ kind: 'done', output: { json: '[10,20,"beside"]' } })
      const { rows } = await database.query(
        'select input::text from holdfast.runs where parent_id = $1 order by input::text',
        [run.id],
      )
      expect(rows).toEqual([{ input: '1' }, { input: '2' }, { input: '3' }])
    }
  }
})
