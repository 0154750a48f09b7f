import { expect, test } from 'vitest'
import { ArgumentError, defineWorkflow } from '../../src/index.ts'
import { MemoryRun } from './memory-run.ts'

/** What a handler asks of the process itself is kept like the answers of steps. */

test('STEP-01: now, random and uuid give what they gave first, each call its own', async () => {
  const seen: unknown[] = []
  const workflow = defineWorkflow({
    name: 'values',
    retry: { initial: 0 },
    handler: async (_, run) => {
      const values = [await run.now(), await run.now(), await run.random(), await run.random(), await run.uuid()]
      seen.push([...values, ...(await Promise.all([run.uuid(), run.uuid()]))])
      if (run.attempt < 3) throw new Error('once more')
    },
  })
  const run = new MemoryRun()
  for (let claim = 1; claim <= 3; claim += 1) await run.claim(workflow)
  expect(seen).toHaveLength(3)
  expect(seen[1]).toEqual(seen[0])
  expect(seen[2]).toEqual(seen[0])
  const [now, , first, second, ...uuids] = seen[0] as [Date, Date, number, number, string, string, string]
  expect(now).toBeInstanceOf(Date)
  expect(first).not.toBe(second)
  expect([first, second].every((each) => each >= 0 && each < 1)).toBe(true)
  expect(new Set(uuids).size).toBe(3)
  expect((await run.memos()).map(({ key }) => key)).toEqual([
    '[now]',
    '[now]#2',
    '[random]',
    '[random]#2',
    '[uuid]',
    '[uuid]#2',
    '[uuid]#3',
  ])
})

test('STEP-04: no step of a user has the key of such a value, nor one of another step', async () => {
  const workflow = defineWorkflow({
    name: 'names',
    handler: async (_, run) => {
      const names = ['now', 'random', 'uuid']
      const steps = await Promise.all(names.map((name) => run.step(name, ({ key }) => key)))
      await Promise.all([run.now(), run.random(), run.uuid()])
      const refused = await Promise.allSettled(['[now]', 'now#2', 'uuid]'].map((name) => run.step(name, () => 'ran')))
      return [steps, refused.every((each) => each.status === 'rejected' && each.reason instanceof ArgumentError)]
    },
  })
  const run = new MemoryRun()
  const ending = await run.claim(workflow)
  expect(ending?.outcome).toMatchObject({ output: { json: '[["now","random","uuid"],true]' } })
  expect((await run.memos()).map(({ key }) => key).toSorted()).toEqual(
    ['[now]', '[random]', '[uuid]', 'now', 'random', 'uuid'].toSorted(),
  )
})

test('a step called for in the body of another, before its first await, is refused', async () => {
  const refusals: unknown[] = []
  const workflow = defineWorkflow({
    name: 'inside',
    handler: (_, run) =>
      run.step('outer', async () => {
        const calls = [run.step('inner', () => 1), run.transaction('inner', () => Promise.resolve(1)), run.uuid()]
        for (const call of calls) refusals.push(await call.catch((error: unknown) => error))
        return 'outer'
      }),
  })
  const run = new MemoryRun()
  await run.claim(workflow)
  expect(refusals).toEqual(Array.from({ length: 3 }, () => expect.any(ArgumentError) as unknown))
  expect((await run.memos()).map(({ key }) => key)).toEqual(['outer'])
})
