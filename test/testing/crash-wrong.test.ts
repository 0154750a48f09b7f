import { describe, expect, inject, test, vi } from 'vitest'
import { defineWorkflow, type Run, type Workflow } from '../../src/index.ts'
import { crashTest, type CrashReport } from '../../src/testing.ts'
import { turn } from '../execute/turn.ts'

/** Workflows that are wrong on purpose: crashTest must be able to say no. */

const { connectionString } = inject('testServer')

async function crash(handler: (run: Run) => unknown): Promise<CrashReport> {
  return await crashTest(define(handler), undefined, { connectionString })
}

function define(handler: (run: Run) => unknown): Workflow {
  return defineWorkflow({ name: 'wrong', handler: (_, run) => handler(run) })
}

const kinds = ({ problems }: CrashReport): string[] => [...new Set(problems.map(({ kind }) => kind))].toSorted()

describe('crashTest finds', () => {
  test('a branch on chance outside of steps', async () => {
    let throws = 0
    vi.spyOn(Math, 'random').mockImplementation(() => (throws++ % 2 === 0 ? 0.1 : 0.9))
    try {
      const report = await crash(async (run) => {
        if (Math.random() < 0.5) return await run.step('head', () => 1)
        return await run.step('tail', () => 1)
      })
      expect(kinds(report)).toEqual(['divergence'])
      expect(report.problems.map((problem) => problem.kind === 'divergence' && problem.step)).toContain('head')
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('a branch on the clock outside of steps', async () => {
    let hour = 0
    const clock = { getHours: () => hour++ % 24 }
    const report = await crash(async (run) => {
      if (clock.getHours() < 12) await run.step('good morning', () => 1)
      await run.step('always', () => 1)
    })
    expect(kinds(report)).toContain('divergence')
  })

  test('what a counter of the process says', async () => {
    let count = 0
    const report = await crash(async (run) => {
      count += 1
      await run.step('one', () => 1)
      return count
    })
    expect(kinds(report)).toEqual(['other_outcome'])
    expect(report.problems[0]).toMatchObject({ kind: 'other_outcome', expected: { state: 'done' } })
  })

  test('a step whose name comes from a counter of the process', async () => {
    let count = 0
    const report = await crash(async (run) => {
      await run.step(`send ${(count += 1)}`, () => 1)
      await run.step('after', () => 1)
    })
    expect(kinds(report)).toEqual(['divergence'])
  })

  test('an order of steps that raw promises decide', async () => {
    let isTurned = false
    const report = await crash(async (run) => {
      isTurned = !isTurned
      const wait = async (turns: number): Promise<void> => {
        for (let left = turns; left > 0; left -= 1) await turn()
      }
      await Promise.all([
        wait(isTurned ? 1 : 20).then(() => run.step('a', () => 'a')),
        wait(isTurned ? 20 : 1).then(() => run.step('b', () => 'b')),
      ])
      return await run.step('end', () => 1)
    })
    expect(kinds(report)).toContain('divergence')
  })

  test('a run that what is only in memory holds up', async () => {
    const begun = new Set<string>()
    const report = await crashTest(
      define(async (run) => {
        if (begun.has(run.id)) await new Promise(() => undefined)
        begun.add(run.id)
        return await run.step('one', () => 1)
      }),
      undefined,
      { connectionString, timeout: '50ms', maxPoints: 3 },
    )
    expect(kinds(report)).toEqual(['stuck'])
    expect(report.points).toBe(3)
    expect(report.problems[0]?.point).toMatch(/^1 of \d+: before the body of "one"$/)
  })

  test('a run that never ends even without a crash', async () => {
    const report = await crashTest(
      define(() => new Promise(() => undefined)),
      undefined,
      { connectionString, timeout: '50ms' },
    )
    expect(report).toEqual({ points: 0, outcome: undefined, problems: [{ kind: 'stuck', point: 'without a crash' }] })
  })
})

describe('around waits crashTest finds', () => {
  const handled = { count: 0 }

  test('a branch on the time of day', async () => {
    const real = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => 2 * Math.floor(real() / 2) + (handled.count % 2))
    try {
      const report = await crash(async (run) => {
        handled.count += 1
        const isOdd = Date.now() % 2 === 1
        await run.sleep('nap', '1h')
        await (isOdd ? run.step('odd', () => 1) : run.step('even', () => 1))
      })
      expect(kinds(report)).toEqual(['divergence'])
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('chance that decides how long to sleep, even without a crash', async () => {
    vi.spyOn(Math, 'random').mockImplementation(() => (handled.count % 2) / 2)
    try {
      const report = await crash(async (run) => {
        handled.count += 1
        await (Math.random() < 0.5 ? run.sleep('briefly', '1h') : run.sleep('long', '2h'))
      })
      expect(kinds(report)).toEqual(['divergence'])
      expect(report.problems[0]).toMatchObject({ point: 'without a crash' })
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('chance that decides which child is called', async () => {
    const child = defineWorkflow({ name: 'child', handler: (_, run) => run.step('one', () => 1) })
    const other = defineWorkflow({ name: 'other', handler: (_, run) => run.step('one', () => 1) })
    const report = await crashTest(
      define(async (run) => {
        handled.count += 1
        return await run.call(handled.count % 2 === 0 ? child : other)
      }),
      undefined,
      { connectionString, workflows: [child, other], maxPoints: 4 },
    )
    expect(kinds(report)).toContain('divergence')
  })

  test('raw promises that decide which wait comes first', async () => {
    const raw = async (turns: number): Promise<void> => {
      for (let left = turns; left > 0; left -= 1) await turn()
    }
    const report = await crash(async (run) => {
      handled.count += 1
      const [slow, quick] = handled.count % 2 === 0 ? [20, 1] : [1, 20]
      await Promise.all([raw(slow).then(() => run.sleep('one', '1h')), raw(quick).then(() => run.sleep('two', '1h'))])
    })
    expect(kinds(report)).toContain('divergence')
  })

  test('a raw promise that no claim waits for, since it is at rest beside it', async () => {
    const answer = (): Promise<string> => new Promise(() => undefined)
    const report = await crash((run) => Promise.race([run.waitFor('answer'), answer()]))
    expect(report.problems).toEqual([{ kind: 'stuck', point: 'without a crash' }])
  })

  test('a wait for what only the process that died would have done', async () => {
    const sent = new Set<string>()
    const report = await crash(async (run) => {
      const isFirst = !sent.has(run.id)
      sent.add(run.id)
      await run.step('one', () => 1)
      return await (isFirst ? run.step('two', () => 2) : run.waitFor('go'))
    })
    expect(kinds(report)).toContain('stuck')
    expect(kinds(report)).toContain('divergence')
  })
})
