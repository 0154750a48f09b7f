import { describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { ChildFailedError, defineSignal, defineWorkflow, WaitTimeoutError, type Run } from '../../src/index.ts'
import { crashTest, type CrashReport, type CrashTestOptions } from '../../src/testing.ts'
import { turn } from '../execute/turn.ts'

const { connectionString } = inject('testServer')

async function crash(handler: (run: Run) => unknown, options: CrashTestOptions = {}): Promise<CrashReport> {
  const workflow = defineWorkflow({ name: 'waiting', handler: (_, run) => handler(run) })
  return await crashTest(workflow, undefined, { connectionString, ...options })
}

const approved = defineSignal({ name: 'approved', schema: z.object({ by: z.string() }) })
const double = defineWorkflow({
  name: 'double',
  input: z.number(),
  handler: async (n, run) => {
    await run.sleep('think', '1h')
    if (n > 3) return run.fail('too many')
    return await run.step('double', () => n * 2)
  },
})

describe('crashTest takes a run, wherever it dies,', () => {
  test('through sleeps, whose time passes at once', async () => {
    const report = await crash(async (run) => {
      await run.sleep('nap', '1h')
      await run.sleepUntil('then', new Date((await run.now()).getTime() + 86_400_000))
      return await run.step('up', () => 'awake')
    })
    expect(report).toMatchObject({ problems: [], outcome: { state: 'done', output: 'awake' } })
  })

  test('through signals: some are there when it begins, others come while it waits, or never', async () => {
    const report = await crash(
      async (run) => {
        const { by } = await run.waitFor(approved)
        const paid = await run.waitFor('paid', { timeout: '2h' })
        const late = await run.waitFor('paid', { timeout: '2h' }).catch((error: unknown) => error)
        return [by, paid, late instanceof WaitTimeoutError]
      },
      {
        signals: [
          { signal: 'paid', payload: 12, after: '1h' },
          { signal: approved, payload: { by: 'Ada' } },
          { signal: 'paid', payload: 13, after: '1d' },
        ],
      },
    )
    expect(report).toMatchObject({ problems: [], outcome: { output: ['Ada', 12, true] } })
  })

  test('past a person who answers, answers wrongly, or does not answer', async () => {
    const park = (run: Run, name: string): Promise<unknown> =>
      run.park(name, { reason: 'May it?', schema: z.boolean(), timeout: '1d' }).catch((error: unknown) => {
        return error instanceof WaitTimeoutError
      })
    const report = await crash(
      async (run) => [await park(run, 'asked'), await park(run, 'confused'), await park(run, 'away')],
      { answers: { asked: false, confused: 'perhaps' } },
    )
    expect(report).toMatchObject({ problems: [], outcome: { output: [false, true, true] } })
  })

  test('through its children, in which processes die too', async () => {
    const report = await crash(
      async (run) => {
        const { id } = await run.start(double, 1)
        const answers = await Promise.all([run.call(double, 2), run.call(double, 3)])
        const failure = await run.call(double, 4).catch((error: unknown) => error)
        return [typeof id, answers, failure instanceof ChildFailedError]
      },
      { workflows: [double] },
    )
    expect(report).toMatchObject({ problems: [], outcome: { output: ['string', [4, 6], true] } })
  })

  test('and says in whose run its process died', async () => {
    const counted = defineWorkflow({ name: 'counted', handler: (_, run) => run.step('count', () => run.attempt) })
    const { problems } = await crash((run) => run.call(counted), { workflows: [counted] })
    expect(problems.map(({ kind, point }) => `${kind} ${point.replace(/^\d+ of \d+: /, '')}`)).toEqual([
      'other_outcome before the body of "count" of a run of "counted"',
      'other_outcome after the body of "count" of a run of "counted"',
    ])
  })

  test('over the items of a map', async () => {
    const report = await crash((run) =>
      run.map(
        'each',
        ['a', 'b', 'c'],
        async (item) => {
          await run.sleep('nap', '1h')
          return await run.step('up', () => turn().then(() => item.toUpperCase()))
        },
        { concurrency: 2 },
      ),
    )
    expect(report).toMatchObject({ problems: [], outcome: { output: ['A', 'B', 'C'] } })
  })

  test('on to the last of the runs that it goes on as, whose output is the outcome', async () => {
    const round = defineWorkflow({
      name: 'round',
      input: z.number(),
      handler: async (n, run) => {
        const word = await run.waitFor('word')
        await run.step('say', () => word)
        return n === 3 ? word : run.continueAs(n + 1)
      },
    })
    const report = await crashTest(round, 1, {
      connectionString,
      signals: ['one', 'two', 'three'].map((payload, index) => ({ signal: 'word', payload, after: `${index}h` })),
    })
    expect(report).toMatchObject({ problems: [], outcome: { state: 'done', output: 'three' } })
  })

  test('to its deadline', async () => {
    const workflow = defineWorkflow({
      name: 'overdue',
      deadline: '1h',
      handler: (_, run) => run.waitFor('never'),
    })
    const report = await crashTest(workflow, undefined, { connectionString })
    expect(report).toMatchObject({ problems: [], outcome: { state: 'failed', failure: 'deadline' } })
  })
})

describe('what has been kept of a run that fails is undone once, wherever a process dies:', () => {
  const booking = defineWorkflow({
    name: 'booking',
    maxAttempts: 1,
    handler: async (_, run) => {
      const undo = (what: string): string => `undid ${what}`
      await Promise.all([
        run.step('hotel', () => turn().then(() => 'room 7'), { rollback: undo }),
        run.step('flight', () => 'seat 1A', { rollback: (seat) => turn().then(() => undo(seat)) }),
      ])
      await run.sleep('think', '1d')
      await run.step('pay', () => Promise.reject(new Error('declined')))
    },
  })

  test('in the reverse order', async () => {
    const report = await crashTest(booking, undefined, { connectionString })
    expect(report).toMatchObject({
      problems: [],
      outcome: {
        state: 'failed',
        failure: 'attempts_exhausted',
        rollback: { state: 'done', undone: ['hotel', 'flight'], failed: [] },
      },
    })
  })

  test('without running any body again', async () => {
    const charged: string[] = []
    const hasty = defineWorkflow({
      name: 'hasty',
      maxAttempts: 1,
      handler: async (_, run) => {
        const pay = (): Promise<unknown> =>
          run.step('pay', () => {
            charged.push(run.id)
            throw new Error('declined')
          })
        // It is asked for before anything is known to be on record.
        const paid = pay()
        await run.step('hotel', () => 'room 7', { rollback: () => undefined })
        await paid
      },
    })
    const report = await crashTest(hasty, undefined, { connectionString, maxPoints: 1 })
    expect(report.outcome?.rollback).toMatchObject({ state: 'done', undone: ['hotel'] })
    expect(charged.length).toBeGreaterThan(1)
    expect(new Set(charged).size).toBe(charged.length)
  })
})

test('a child whose workflow is not given is asked for', async () => {
  const refused = crash((run) => run.call(double, 2))
  await expect(refused).rejects.toMatchObject({ code: 'ARGUMENT', field: 'workflows' })
})
