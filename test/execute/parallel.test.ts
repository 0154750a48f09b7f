import { expect, test } from 'vitest'
import { defineWorkflow, WaitTimeoutError, type Run, type Workflow } from '../../src/index.ts'
import { MemoryRun, type MemoryRunOptions } from './memory-run.ts'
import { turn } from './turn.ts'

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await turn()
}

/** Claims until it is done, the first with that death; answers what it gave and the bodies that ran, claim by claim. */
async function toEnd(workflow: Workflow, run: MemoryRun, deathAfter?: number): Promise<string> {
  if (deathAfter !== undefined) await run.claim(workflow, { death: { turns: deathAfter } })
  for (let claim = 0; claim < 100; claim += 1) {
    const outcome = (await run.claim(workflow))?.outcome
    if (outcome?.kind === 'done') return outcome.output.json
    expect(outcome?.kind).toBe('suspended')
  }
  throw new Error('It does not end.')
}

test.each([2, 10, 50])('STEP-07: %i parallel steps all finish and are kept each by itself', async (count) => {
  const bodies: string[] = []
  const names = Array.from({ length: count }, (_, n) => `step ${n}`)
  const workflow = defineWorkflow({
    name: 'parallel',
    handler: (_, run) =>
      Promise.all(
        names.map((name, n) =>
          run.step(name, async () => {
            bodies.push(name)
            await turns((n * 7) % 11)
            return n
          }),
        ),
      ),
  })
  for (const death of [1, 4, 7, 10]) {
    bodies.length = 0
    const run = new MemoryRun()
    await run.claim(workflow, { death: { turns: death } })
    const kept = (await run.memos()).map(({ key }) => key)
    const before = bodies.splice(0)
    expect(before).toEqual(names)
    expect(await toEnd(workflow, run)).toBe(JSON.stringify(names.map((_, n) => n)))
    expect(bodies).toEqual(names.filter((name) => !kept.includes(name)))
  }
})

const slow = (run: Run, name: string, count: number): Promise<string> =>
  run.step(name, async () => {
    await turns(count)
    return name
  })

const fails = (run: Run, name: string, count: number): Promise<never> =>
  run.step(name, async () => {
    await turns(count)
    throw new Error(name)
  })

const late = async (run: Run): Promise<string> => {
  const error = await run.waitFor('word', { timeout: 5 }).catch((thrown: unknown) => thrown)
  return error instanceof WaitTimeoutError ? 'late' : String(error)
}

const contests: Readonly<Record<string, (run: Run) => Promise<unknown>>> = {
  'race of steps': (run) => Promise.race([slow(run, 'a', 3), slow(run, 'b', 2), fails(run, 'c', 4)]).catch(String),
  'race of a step and a sleep': (run) => Promise.race([slow(run, 'a', 5), run.sleep('nap', 1).then(() => 'slept')]),
  'race of a step and a wait': (run) => Promise.race([slow(run, 'a', 6), run.waitFor('word')]),
  'race of waits': (run) => Promise.race([run.waitFor('word'), run.waitFor('other'), late(run)]),
  'race of sleeps': (run) =>
    Promise.race([5, 2, 9].map((ms) => run.sleep(`${ms}`, ms).then(() => slow(run, `after ${ms}`, ms)))),
  'any of what fails': (run) => Promise.any([fails(run, 'a', 1), slow(run, 'b', 4), run.waitFor('word')]),
  'all that settle': (run) =>
    Promise.allSettled([fails(run, 'a', 3), slow(run, 'b', 1), run.sleep('nap', 2), late(run)]).then((all) =>
      all.map((each) => (each.status === 'fulfilled' ? (each.value ?? null) : String(each.reason))),
    ),
  'race in a race': (run) =>
    Promise.race([
      Promise.race([slow(run, 'a', 4), run.waitFor('word')]),
      Promise.all([slow(run, 'b', 1), run.sleep('nap', 3)]).then(() => 'both'),
    ]),
}

/** Signals that come early, late and in between. */
const storages: readonly MemoryRunOptions[] = [0, 3, 6].map((after) => ({
  signals: [
    { name: 'word', after },
    { name: 'other', after: after + 1 },
  ],
}))

test.each(Object.entries(contests))('STEP-07: a %s has the same winner on every replay', async (_, contest) => {
  for (const storage of storages) {
    for (let death = 0; death < 18; death += 1) {
      const seen: unknown[] = []
      const workflow = defineWorkflow({
        name: 'contest',
        handler: async (__, run) => {
          const winner = await contest(run)
          // What was seen and is not durable may change; from here on it may not.
          await run.step('decided', () => winner)
          seen.push(winner)
          await run.sleep('rest', 3)
          await slow(run, 'more', 2)
          return winner
        },
      })
      const run = new MemoryRun(storage)
      const first = await toEnd(workflow, run, death === 0 ? undefined : death)
      expect(new Set(seen.map((each) => JSON.stringify(each))).size).toBe(1)
      expect(await toEnd(workflow, new MemoryRun({ memos: await run.memos() }))).toBe(first)
    }
  }
})

test('A10: what a race has left behind runs once, and holds the run up no longer than it says', async () => {
  const counts: Record<string, number> = {}
  const counted = (run: Run, name: string, count: number): Promise<string> =>
    run.step(name, async () => {
      counts[name] = (counts[name] ?? 0) + 1
      await turns(count)
      return name
    })
  const workflow = defineWorkflow({
    name: 'leaves one behind',
    handler: async (_, run) => {
      const loser = counted(run, 'loser', 30)
      const first = await Promise.race([counted(run, 'winner', 3), loser])
      const next = await counted(run, 'next', 1)
      return [first, next, await loser]
    },
  })
  expect(await toEnd(workflow, new MemoryRun())).toBe('["winner","next","loser"]')
  expect(counts).toEqual({ winner: 1, loser: 1, next: 1 })
})

test('STEP-07: a run is done although the loser of a race never ends', async () => {
  const workflow = defineWorkflow({
    name: 'does not wait',
    handler: (_, run) =>
      Promise.race([
        slow(run, 'a', 1),
        run.step('never', () => new Promise<never>(() => undefined)),
        run.waitFor('word'),
      ]),
  })
  expect(await toEnd(workflow, new MemoryRun())).toBe('"a"')
})

test('I3: a step that nobody awaits, overtaken by later ones, has the same key and answer on every replay', async () => {
  const workflow = defineWorkflow({
    name: 'overtaken',
    handler: async (_, run) => {
      const first = slow(run, 'x', 9)
      const second = await slow(run, 'x', 1)
      const third = await run.step('x', ({ key }) => key)
      return [await first, second, third]
    },
  })
  for (let death = 0; death < 25; death += 1) {
    const run = new MemoryRun()
    expect(await toEnd(workflow, run, death)).toBe('["x","x","x#3"]')
    const memos = await run.memos()
    const inOrder = memos.toSorted((a, b) => a.ordinal - b.ordinal)
    expect(inOrder.map(({ key, ordinal }) => [key, ordinal])).toEqual([
      ['x', 1],
      ['x#2', 2],
      ['x#3', 3],
    ])
  }
})

test('I4: iterations that a changed input skips give no call the answer of another name', async () => {
  const kept = (skipped: number) =>
    defineWorkflow({
      name: 'loops',
      handler: async (_, run) => {
        const got: string[] = []
        for (let n = skipped; n < 6; n += 1) got.push(await run.step(`item ${n}`, () => `made for ${n}`))
        return got
      },
    })
  const run = new MemoryRun()
  await run.claim(kept(0), { death: { memo: 5, when: 'after' } })
  expect(await toEnd(kept(3), run)).toBe(JSON.stringify([3, 4, 5].map((n) => `made for ${n}`)))
})
