import { expect, test } from 'vitest'
import { ArgumentError, defineWorkflow, type Run } from '../../src/index.ts'
import { MemoryRun } from './memory-run.ts'
import { turn } from './turn.ts'

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await turn()
}

function mapping(handler: (run: Run) => Promise<unknown>) {
  return defineWorkflow({ name: 'maps', maxAttempts: 3, retry: { initial: 0 }, handler: (_, run) => handler(run) })
}

async function outputOf(handler: (run: Run) => Promise<unknown>): Promise<unknown> {
  const outcome = (await new MemoryRun().claim(mapping(handler)))?.outcome
  return outcome?.kind === 'done' ? JSON.parse(outcome.output.json) : outcome
}

test('STEP-04: run.map answers in the order of its items, and the keys of their steps name them', async () => {
  const keys: string[] = []
  const answers = await outputOf((run) =>
    run.map('import', ['a', 'b', 'c'], async (item, index) => {
      await turns(3 - index)
      const twice = [1, 2].map(() => run.step('save', ({ key }) => keys.push(key)))
      await Promise.all(twice)
      return `${item}${index}`
    }),
  )
  expect(answers).toEqual(['a0', 'b1', 'c2'])
  expect(keys.toSorted()).toEqual([0, 1, 2].flatMap((n) => [`import[${n}]/save`, `import[${n}]/save#2`]))
})

test.each([
  [1, 1],
  [3, 3],
  [undefined, 10],
  [100, 25],
])('STEP-07: run.map has at most its concurrency under way (%s: %i)', async (concurrency, most) => {
  let underWay = 0
  let highest = 0
  await outputOf((run) =>
    run.map(
      'all',
      Array.from({ length: 25 }, (_, n) => n),
      async () => {
        underWay += 1
        highest = Math.max(highest, underWay)
        await run.step('work', () => turns(3))
        underWay -= 1
      },
      { concurrency },
    ),
  )
  expect(highest).toBe(most)
})

test('STEP-04: a map in a map, two maps of one name and other calls beside them have keys of their own', async () => {
  const run = new MemoryRun()
  const workflow = mapping(async (handle) => {
    const inner = (outer: number): Promise<unknown> =>
      handle.map('inner', [0, 1], (n) => handle.step('save', () => `${outer}${n}`))
    return await Promise.all([
      handle.map('outer', [0, 1], inner),
      handle.map('outer', ['x'], async (x) => [await handle.uuid(), await handle.step('save', () => x)].slice(1)),
      handle.step('save', () => 'outside'),
      handle.map('none', [], () => handle.step('save', () => 'never')),
    ])
  })
  const ending = await run.claim(workflow)
  expect(ending?.outcome).toMatchObject({
    output: { json: '[[["00","01"],["10","11"]],[["x"]],"outside",[]]' },
  })
  expect((await run.memos()).map(({ key }) => key).toSorted()).toEqual([
    'outer#2[0]/[uuid]',
    'outer#2[0]/save',
    'outer[0]/inner[0]/save',
    'outer[0]/inner[1]/save',
    'outer[1]/inner[0]/save',
    'outer[1]/inner[1]/save',
    'save',
  ])
})

test('STEP-07: after the first failure of a map no further item begins, and those under way are waited for', async () => {
  const begun: number[] = []
  const ended: number[] = []
  const seen: unknown[] = []
  const run = new MemoryRun()
  const workflow = mapping(async (handle) => {
    try {
      await handle.map(
        'all',
        [0, 1, 2, 3, 4],
        async (n) => {
          begun.push(n)
          await handle.step('work', async () => {
            await turns(n === 1 ? 2 : 20)
            if (n === 1) throw new Error('one')
          })
          ended.push(n)
        },
        { concurrency: 3 },
      )
    } catch (error) {
      seen.push((error as Error).message, [...ended])
    }
    await handle.step('after', () => undefined)
    return 'went on'
  })
  expect((await run.claim(workflow))?.outcome.kind).toBe('done')
  expect(begun).toEqual([0, 1, 2])
  expect(seen).toEqual(['one', [0, 2]])
})

test('STEP-01: a map whose process dies runs only what is left, under the same keys', async () => {
  const bodies: string[] = []
  const workflow = mapping((run) =>
    run.map('all', [0, 1, 2, 3, 4, 5], (n) =>
      run.step('work', async ({ key }) => {
        bodies.push(key)
        await turns(n)
        return n * n
      }),
    ),
  )
  for (let memo = 1; memo <= 6; memo += 1) {
    bodies.length = 0
    const run = new MemoryRun()
    await run.claim(workflow, { death: { memo, when: 'after' } })
    const kept = (await run.memos()).map(({ key }) => key)
    const before = bodies.splice(0)
    expect(kept).toHaveLength(memo)
    const ending = await run.claim(workflow)
    expect(ending?.outcome).toMatchObject({ output: { json: '[0,1,4,9,16,25]' } })
    expect(bodies).toEqual(before.filter((key) => !kept.includes(key)))
  }
})

test('a map of what is no list, with no function or a wrong concurrency is refused', async () => {
  const refused: unknown[] = []
  await outputOf(async (run) => {
    const wrong: readonly (() => Promise<unknown>)[] = [
      () => run.map('all', 'text' as never, () => 1),
      () => run.map('all', new Set([1]) as never, () => 1),
      () => run.map('all', [1], 'text' as never),
      () => run.map('all', [1], () => 1, { concurrency: 0 }),
      () => run.map('all', [1], () => 1, { concurrency: 1.5 }),
      () => run.map('a[0]', [1], () => 1),
      () => run.map('', [1], () => 1),
    ]
    for (const call of wrong) await call().catch((error: unknown) => refused.push(error))
  })
  expect(refused).toHaveLength(7)
  for (const error of refused) expect(error).toBeInstanceOf(ArgumentError)
  expect(refused.map((error) => (error as ArgumentError).field)).toEqual([
    'items',
    'items',
    'fn',
    'concurrency',
    'concurrency',
    'name',
    'name',
  ])
})
