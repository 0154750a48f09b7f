import { expect, test } from 'vitest'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { HandClock } from '../support/hand-clock.ts'
import { recordingLogger, signal } from '../support/worker.ts'
import { MemoryRun } from './memory-run.ts'
import { turn } from './turn.ts'

/** A claim that comes to rest with a wait open is suspended: its function is dropped where it stands. */

/** A step that fails once, and waits an hour for its next try. */
function patient(run: Run, bodies: string[]): Promise<string> {
  return run.step(
    'patient',
    (step) => {
      bodies.push(`try ${step.try}`)
      if (step.try === 1) throw new Error('not yet')
      return 'at last'
    },
    { retry: { initial: '1h', jitter: 0 } },
  )
}

test('neither a catch nor a finally of a suspended handler runs, in this claim or later', async () => {
  const ran: string[] = []
  const bodies: string[] = []
  const workflow = defineWorkflow({
    name: 'suspended',
    handler: async (_, run) => {
      try {
        return await patient(run, bodies)
      } catch (error) {
        ran.push('catch')
        throw error
      } finally {
        ran.push(`finally after ${bodies.length}`)
      }
    },
  })
  const run = new MemoryRun({ clock: new HandClock() })
  const first = await run.claim(workflow)
  expect(first?.outcome).toEqual({ kind: 'suspended', wakeMs: 3_600_000, isParked: false })
  expect(first?.tries).toMatchObject([{ key: 'patient', tries: 1, retryMs: 3_600_000 }])
  for (let left = 20; left > 0; left -= 1) await turn()
  expect(ran).toEqual([])
  expect((await run.claim(workflow))?.outcome.kind).toBe('done')
  expect(bodies).toEqual(['try 1', 'try 2'])
  expect(ran).toEqual(['finally after 2'])
})

test('a claim is suspended only when nothing is in flight but waits', async () => {
  const clock = new HandClock()
  const slow = signal<string>()
  const bodies: string[] = []
  const workflow = defineWorkflow({
    name: 'busy beside a wait',
    handler: async (_, run) => {
      const waiting = patient(run, bodies)
      const answers = [await run.step('slow', () => slow.promise), await run.step('next', () => 'next')]
      return [...answers, await waiting]
    },
  })
  const run = new MemoryRun({ clock })
  const { ending } = run.begin(workflow)
  for (let left = 20; left > 0; left -= 1) await turn()
  await clock.advance(600_000)
  slow.give('slow')
  // It wakes when the step is due, not an hour after it came to rest.
  expect((await ending).outcome).toEqual({ kind: 'suspended', wakeMs: 3_000_000, isParked: false })
  expect((await run.memos()).map(({ key }) => key)).toEqual(['slow', 'next'])
  expect((await run.claim(workflow))?.outcome).toMatchObject({ output: { json: '["slow","next","at last"]' } })
})

test('what is left of a wait counts from the claim, however late the step is called for', async () => {
  const clock = new HandClock()
  const [called, raw] = [signal(), signal()]
  const bodies: string[] = []
  const workflow = defineWorkflow({
    name: 'calls late',
    handler: async (_, run) => {
      await raw.promise
      const waiting = patient(run, bodies)
      called.give()
      return await waiting
    },
  })
  const run = new MemoryRun({ clock, tries: [{ key: 'patient', tries: 1, waitMs: 5_000 }] })
  const { ending } = run.begin(workflow)
  await clock.advance(3_000)
  raw.give()
  await called.promise
  await clock.advance(1_999)
  expect(bodies).toEqual([])
  await clock.advance(1)
  expect((await ending).outcome.kind).toBe('done')
  expect(bodies).toEqual(['try 2'])
})

test('of several waits the claim wakes for the first', async () => {
  const workflow = defineWorkflow({
    name: 'two waits',
    handler: (_, run) => {
      const waiting = (name: string, initial: string): Promise<never> =>
        run.step(
          name,
          () => {
            throw new Error('not yet')
          },
          { retry: { initial, jitter: 0, max: '2h' } },
        )
      return Promise.all([waiting('two hours', '2h'), waiting('one hour', '1h')])
    },
  })
  const ending = await new MemoryRun({ clock: new HandClock() }).claim(workflow)
  expect(ending?.outcome).toEqual({ kind: 'suspended', wakeMs: 3_600_000, isParked: false })
})

test('what a raw await beside a wait leads to has no effect: its calls never settle, and the log says so once', async () => {
  const logger = recordingLogger()
  const raw = signal()
  const after: string[] = []
  const bodies: string[] = []
  const workflow = defineWorkflow({
    name: 'a raw await beside a wait',
    handler: async (_, run) => {
      void raw.promise.then(async () => {
        after.push('resumed')
        await Promise.any([run.step('late', () => bodies.push('late')), run.uuid(), run.step('later', () => 1)])
        after.push('settled')
      })
      return await patient(run, bodies)
    },
  })
  const run = new MemoryRun({ clock: new HandClock(), logger })
  expect((await run.claim(workflow))?.outcome.kind).toBe('suspended')
  raw.give()
  for (let left = 20; left > 0; left -= 1) await turn()
  expect(after).toEqual(['resumed'])
  expect(bodies).toEqual(['try 1'])
  expect(logger.lines).toMatchObject([{ level: 'warn', fields: { code: 'RAW_PROMISE', step: 'late' } }])
  expect(await run.memos()).toEqual([])
})

test('WAIT-02: a signal whose word comes while the claim asks for it is received at once all the same', async () => {
  const clock = new HandClock()
  const [long, received] = [signal(), signal<unknown>()]
  const workflow = defineWorkflow({
    name: 'asks as it comes',
    handler: async (_, run) => {
      void run.waitFor('word').then(received.give)
      await run.step('short', () => 'the signal comes as this is kept')
      await run.step('long', () => long.promise)
    },
  })
  const signals = [{ name: 'word', after: 2 }]
  const { ending } = new MemoryRun({ clock, signals, turnsToOpen: 10 }).begin(workflow)
  for (let left = 20; left > 0; left -= 1) await turn()
  await clock.advance(1)
  expect(await received.promise).toBe('signal 1')
  long.give()
  expect((await ending).outcome.kind).toBe('done')
})
