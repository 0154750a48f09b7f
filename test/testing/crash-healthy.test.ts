import { describe, expect, inject, test } from 'vitest'
import { defineWorkflow, type Run, type Workflow } from '../../src/index.ts'
import { crashTest } from '../../src/testing.ts'
import { turn } from '../execute/turn.ts'

const { connectionString } = inject('testServer')

async function later<T>(turns: number, answer: T): Promise<T> {
  for (let left = turns; left > 0; left -= 1) await turn()
  return answer
}

async function chain(run: Run, name: string, turns: number): Promise<string> {
  let said = ''
  for (let n = 1; n <= 3; n += 1) said += await run.step(name, () => later(turns, `${name}${n} `))
  return said
}

/** How often each run's step has been tried, in whatever process. */
function counted(): (run: Run, name: string) => number {
  const counts = new Map<string, number>()
  return (run, name) => {
    const count = (counts.get(run.id + name) ?? 0) + 1
    counts.set(run.id + name, count)
    return count
  }
}

const handlers: Record<string, (run: Run) => unknown> = {
  'steps in sequence': async (run) => {
    const a = await run.step('a', () => 1)
    const b = await run.step('b', () => later(2, a + 1))
    return [a, b, await run.step('b', () => b + 1)]
  },
  'chains in parallel': (run) => Promise.all([chain(run, 'a', 0), chain(run, 'b', 3), chain(run, 'c', 1)]),
  'an error that is caught, with another branch': async (run) => {
    try {
      await run.step('charge', () => {
        throw new Error('declined')
      })
    } catch (error) {
      return [(error as Error).message, await run.step('tell', () => later(1, 'told'))]
    }
    return await run.step('ship', () => 'shipped')
  },
  'a step that is tried again': async (run) => {
    const count = counted()
    const flaky = (): Promise<string> => {
      if (count(run, 'flaky') < 3) throw new Error('busy')
      return later(1, 'answered')
    }
    return await run.step('flaky', flaky, { retry: { initial: '5s', maxTries: 3 } })
  },
  'a step that is tried again after an hour': async (run) => {
    await run.step('first', () => 1)
    return await run.step('slow', (step) => (step.try < 2 ? Promise.reject(new Error('busy')) : 'answered'), {
      retry: { initial: '1h', maxTries: 5 },
    })
  },
  'a transaction': async (run) => {
    const id = await run.transaction('insert', async (tx) => (await tx.query('select 1 as one')).rows[0]?.one as number)
    return id + (await run.step('next', () => later(1, 1)))
  },
  'transactions beside steps': (run) =>
    Promise.all([
      run.transaction('a', async (tx) => (await tx.query('select 1 as one')).rows),
      chain(run, 'b', 1),
      run.transaction('c', (tx) => later(2, tx).then(async (on) => (await on.query('select 2 as two')).rows)),
    ]),
  'values that are made anew in each run': async (run) => {
    const key = await run.step('key', (step) => step.idempotencyKey)
    return { key, id: await run.uuid(), at: await run.now(), luck: await run.random(), run: run.id }
  },
  'a race of steps': async (run) => {
    const first = await Promise.race([
      run.step('slow', () => later(6, 'slow')),
      run.step('fast', () => later(1, 'fast')),
    ])
    await run.step('after', () => later(2, 0))
    return ['slow', 'fast'].includes(first)
  },
  'a step that nobody awaits': async (run) => {
    void run.step('aside', () => later(2, 1))
    await run.step('one', () => later(4, 1))
    return await run.step('two', () => later(1, 2))
  },
  'steps of which one fails beside others': async (run) => {
    const settled = await Promise.allSettled([
      run.step('a', () => later(3, 'a')),
      run.step('b', () => Promise.reject(new TypeError('wrong'))),
      run.transaction('c', async (tx) => (await tx.query('select 1 as one')).rows),
    ])
    return [settled.map(({ status }) => status), await run.step('d', () => 'd')]
  },
  'what it does in the end, whatever comes': async (run) => {
    try {
      return await run.step('work', () => later(1, 'done'))
    } finally {
      await run.step('clean up', () => undefined)
    }
  },
  'a failure for good': async (run) => {
    await run.step('look', () => 'nothing')
    return run.fail('there is nothing to do')
  },
}

function define(handler: (run: Run) => unknown, more: { maxAttempts?: number } = {}): Workflow {
  return defineWorkflow({ name: 'healthy', handler: (_, run) => handler(run), ...more })
}

describe('a workflow survives a crash anywhere that has', () => {
  test.each(Object.entries(handlers))('%s', async (_, handler) => {
    const report = await crashTest(define(handler), undefined, { connectionString })
    expect(report.problems).toEqual([])
    expect(report.points).toBeGreaterThan(4)
  })

  test('attempts that fail, of which a crash takes none', async () => {
    const failing = define(
      async (run) => {
        await run.step('kept', () => 1)
        throw new Error('never works')
      },
      { maxAttempts: 3 },
    )
    const report = await crashTest(failing, undefined, { connectionString })
    expect(report.problems).toEqual([])
    expect(report.outcome).toMatchObject({ state: 'failed', failure: 'attempts_exhausted', reason: 'never works' })
  })

  test('a snooze, whose time is skipped', async () => {
    const looks = new Map<string, number>()
    const snoozing = define(async (run) => {
      await run.step('order', () => 'sent')
      looks.set(run.id, (looks.get(run.id) ?? 0) + 1)
      if ((looks.get(run.id) ?? 0) < 3) return run.snooze('30d', 'not there yet')
      return await run.step('ship', () => later(1, 'shipped'))
    })
    const report = await crashTest(snoozing, undefined, { connectionString })
    expect(report.problems).toEqual([])
    expect(report.outcome?.output).toBe('shipped')
  })

  test('limits, which are left out', async () => {
    const limited = defineWorkflow({
      name: 'limited',
      group: () => 'a',
      concurrency: { perGroup: 1 },
      rate: { limit: 1, per: '1h' },
      handler: (_, run) => run.step('once', () => run.group),
    })
    const report = await crashTest(limited, undefined, { connectionString })
    expect(report.problems).toEqual([])
    expect(report.outcome?.output).toBe('a')
  })
})
