import { expect, test } from 'vitest'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { HandClock } from '../support/hand-clock.ts'
import { recordingLogger, signal } from '../support/worker.ts'
import { MemoryRun } from './memory-run.ts'
import { turn } from './turn.ts'

/** A handler that has ended beside steps that are still under way. */

const answerIn = (turns: number) => async (): Promise<string> => {
  for (let left = turns; left > 0; left -= 1) await turn()
  return 'late'
}

/** Ends as `end` says, while a step of 20 turns is under way and another would follow it. */
function endingBeside(end: (run: Run) => unknown, begun: string[]) {
  return defineWorkflow({
    name: 'ends beside a step',
    retry: { initial: '1h', jitter: 0 },
    handler: (_, run) => {
      void run
        .step('slow', () => {
          begun.push('slow')
          return answerIn(20)()
        })
        .then(() => run.step('next', () => begun.push('next')))
      return run.step('quick', () => 'quick').then(() => end(run))
    },
  })
}

function fail(): never {
  throw new Error('beside it')
}

const goingOn: Readonly<Record<string, (run: Run) => unknown>> = {
  throws: fail,
  'answers run.retry': (run) => run.retry('1h'),
  'answers run.snooze': (run) => run.snooze('1h'),
  'answers run.fail': (run) => run.fail('for good'),
}

test.each(Object.entries(goingOn))(
  'STEP-07: when the handler %s, a step under way is kept before the claim ends, and nothing new begins',
  async (_, end) => {
    const begun: string[] = []
    const run = new MemoryRun()
    const ending = await run.claim(endingBeside(end, begun))
    expect(ending?.outcome.kind).not.toBe('done')
    expect((await run.memos()).map(({ key }) => key)).toEqual(['quick', 'slow'])
    expect(begun).toEqual(['slow'])
  },
)

test('a handler that is done waits for no other step', async () => {
  const begun: string[] = []
  const run = new MemoryRun()
  expect((await run.claim(endingBeside(() => 'done', begun)))?.outcome.kind).toBe('done')
  expect((await run.memos()).map(({ key }) => key)).toEqual(['quick'])
})

test('a step that fails after the handler has ended leaves its error and tries', async () => {
  const workflow = defineWorkflow({
    name: 'fails late',
    handler: (_, run) => {
      void run.step(
        'slow',
        async () => {
          await answerIn(20)()
          throw new Error('too late')
        },
        { retry: { initial: 0, maxTries: 3 } },
      )
      return run.step('quick', () => 'quick').then(fail)
    },
  })
  const ending = await new MemoryRun().claim(workflow)
  expect(ending?.tries).toMatchObject([{ key: 'slow', tries: 1, error: { message: 'too late' } }])
})

/** Its step never ends, and its handler has ended before this resolves. */
async function begunBesideAnEndless(clock: HandClock) {
  const thrown = signal()
  const workflow = defineWorkflow({
    name: 'beside a step that never ends',
    timeout: '5s',
    retry: { initial: '15s', jitter: 0 },
    handler: async (_, run) => {
      void run.step('endless', () => new Promise(() => undefined))
      await run.step('quick', () => 'quick')
      thrown.give()
      throw new Error('beside it')
    },
  })
  const begun = new MemoryRun({ clock }).begin(workflow)
  await thrown.promise
  await turn()
  return begun
}

test('the wait counts towards the delay of the next attempt', async () => {
  const clock = new HandClock()
  const slow = signal()
  const workflow = defineWorkflow({
    name: 'slow beside a throw',
    retry: { initial: '10s', jitter: 0 },
    handler: async (_, run) => {
      void run.step('slow', () => slow.promise)
      await run.step('quick', () => 'quick')
      throw new Error('beside it')
    },
  })
  const { ending } = new MemoryRun({ clock }).begin(workflow)
  for (let left = 10; left > 0; left -= 1) await turn()
  await clock.advance(4_000)
  slow.give()
  expect((await ending).outcome).toMatchObject({ kind: 'retry', delayMs: 6_000 })
})

test('a step that does not end is waited for 10 s, and the log says that it is left behind', async () => {
  const clock = new HandClock()
  const logger = recordingLogger()
  const workflow = defineWorkflow({
    name: 'beside a step that never ends',
    retry: { initial: '15s', jitter: 0 },
    handler: async (_, run) => {
      void run.step('endless', () => new Promise(() => undefined))
      await run.step('quick', () => 'quick')
      throw new Error('beside it')
    },
  })
  const { ending } = new MemoryRun({ clock, logger }).begin(workflow)
  for (let left = 10; left > 0; left -= 1) await turn()
  let isOver = false
  void ending.then(() => (isOver = true))
  await clock.advance(9_999)
  expect([isOver, logger.lines]).toEqual([false, []])
  await clock.advance(1)
  expect((await ending).outcome).toMatchObject({ kind: 'retry', delayMs: 5_000 })
  expect(logger.lines).toMatchObject([{ level: 'warn', fields: { steps: 1 } }])
})

test('a stop of the worker ends the wait, with what the handler answered', async () => {
  const clock = new HandClock()
  const { execution, ending } = await begunBesideAnEndless(clock)
  execution.interrupt({ kind: 'released' })
  expect((await ending).outcome).toMatchObject({ kind: 'retry', reason: 'beside it' })
})

test('the time-out of the claim ends the wait, with what the handler answered', async () => {
  const clock = new HandClock()
  const { ending } = await begunBesideAnEndless(clock)
  await clock.advance(5_000)
  expect((await ending).outcome).toMatchObject({ kind: 'retry', reason: 'beside it' })
})

test('the loss of the lease ends the wait, and nothing is settled', async () => {
  const clock = new HandClock()
  const { execution, ending } = await begunBesideAnEndless(clock)
  execution.interrupt({ kind: 'lost', reason: 'superseded' })
  expect((await ending).outcome).toEqual({ kind: 'lost', reason: 'superseded' })
})
