import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defineWorkflow, type Run, type Workflow } from '../../src/index.ts'
import type { Death } from '../execute/dying-journal.ts'
import { turn } from '../execute/turn.ts'
import { play } from '../execute/play.ts'
import { programs } from '../execute/programs.ts'
import { useDatabase } from '../support/database.ts'
import { DrivenRun } from './driven-run.ts'

/** Each call gets the answer of its own body, wherever the process dies. What the orders owe is in test/execute. */

const database = useDatabase()

/** A body that takes so many turns of the event loop and answers with the label of the call it belongs to. */
const slow = (label: string, turns: number) => async (): Promise<string> => {
  for (let left = turns; left > 0; left -= 1) await turn()
  return label
}

async function chain(run: Run, label: string, turns: readonly number[]): Promise<string[]> {
  const answers: string[] = []
  for (const [index, each] of turns.entries()) answers.push(await run.step('link', slow(`${label}${index}`, each)))
  return answers
}

const handlers: Readonly<Record<string, { handler: (run: Run) => Promise<unknown>; answer: unknown }>> = {
  'one name in a loop': {
    handler: async (run) => await chain(run, 'loop ', [0, 2, 1, 0]),
    answer: ['loop 0', 'loop 1', 'loop 2', 'loop 3'],
  },
  'one name in parallel': {
    handler: async (run) =>
      await Promise.all([5, 1, 3, 0].map((turns) => run.step('item', slow(`${turns} turns`, turns)))),
    answer: ['5 turns', '1 turns', '3 turns', '0 turns'],
  },
  'one name in chains whose first steps end in another order': {
    handler: async (run) =>
      await Promise.all([chain(run, 'a', [40, 0, 0]), chain(run, 'b', [20, 0, 9]), chain(run, 'c', [0, 30, 0])]),
    answer: [
      ['a0', 'a1', 'a2'],
      ['b0', 'b1', 'b2'],
      ['c0', 'c1', 'c2'],
    ],
  },
  'a step nobody awaits that a later one overtakes': {
    handler: async (run) => {
      const first = run.step('first', slow('first', 30))
      const second = run.step('second', slow('second', 0))
      const after = [await second, await run.step('link', slow('after the second', 0))]
      return [...after, await first, await run.step('link', slow('after the first', 0))]
    },
    answer: ['second', 'after the second', 'first', 'after the first'],
  },
  'chains beside a step that fails at once': {
    handler: async (run) => {
      const failing = run
        .step('fails', () => {
          throw new Error('at once')
        })
        .catch(() => run.step('link', slow('after the failure', 0)))
      const dawdling = (async () => {
        for (let left = 20; left > 0; left -= 1) await Promise.resolve()
        return await run.step('link', slow('after dawdling', 0))
      })()
      return await Promise.all([failing, dawdling])
    },
    answer: ['after the failure', 'after dawdling'],
  },
}

describe.each(Object.entries(handlers))('STEP-04: %s', (_, { handler, answer }) => {
  const workflow = defineWorkflow({
    name: 'own answers',
    maxAttempts: 100,
    retry: { initial: 0 },
    handler: (__, run) => handler(run),
  })

  test('each call gets its own answer, also when the process dies around every memo', async () => {
    const whole = await DrivenRun.start(database, workflow)
    expect(await outputOf(whole, workflow)).toEqual(answer)
    const keys = (await whole.memos()).map((memo) => memo.key).toSorted()
    for (const death of around(keys.length)) {
      const run = await DrivenRun.start(database, workflow)
      expect(await outputOf(run, workflow, [death])).toEqual(answer)
      expect((await run.memos()).map((memo) => memo.key).toSorted()).toEqual(keys)
    }
  })

  test('each call gets its own answer when every process dies after one memo more', async () => {
    const run = await DrivenRun.start(database, workflow)
    const deaths = Array.from({ length: 20 }, (): Death => ({ memo: 1, when: 'after' }))
    expect(await outputOf(run, workflow, deaths)).toEqual(answer)
  })
})

/** More of them take minutes, as in test/execute/replay-order.test.ts. */
const numRuns = Number(process.env['HOLDFAST_PROGRAMS'] ?? 30)
const timeout = 30_000 + numRuns * 1_000

test('STEP-04: random handlers get their own answers in Postgres too', { timeout }, async () => {
  const death: fc.Arbitrary<Death> = fc.record({
    memo: fc.integer({ min: 1, max: 6 }),
    when: fc.constantFrom('before', 'after'),
  })
  const workflow = defineWorkflow({ name: 'program', maxAttempts: 5, handler: () => undefined })
  await fc.assert(
    fc.asyncProperty(programs, fc.array(death, { maxLength: 4 }), async (program, deaths) => {
      await play(program, await DrivenRun.start(database, workflow), deaths)
    }),
    { numRuns },
  )
})

function around(memos: number): Death[] {
  return Array.from({ length: memos }, (_, index) => index + 1).flatMap((memo): Death[] => [
    { memo, when: 'before' },
    { memo, when: 'after' },
  ])
}

async function outputOf(run: DrivenRun, workflow: Workflow, deaths: readonly Death[] = []): Promise<unknown> {
  const { outcome } = await run.toEnd(workflow, deaths)
  if (outcome.kind !== 'done') throw new Error(`it ended as ${outcome.kind}`)
  return JSON.parse(outcome.output.json) as unknown
}
