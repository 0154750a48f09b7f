import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, LeaseLostError, type Run } from '../../src/index.ts'
import { claimByHand, expire, loseLease, outcomes, recordBesideLease } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { HandClock } from '../support/hand-clock.ts'
import { openClient, recordingLogger, signal, startWorker, type LogLine } from '../support/worker.ts'

/** Two workers in one process: the first one's clock stands still, so it neither renews nor notices anything by itself. */

const database = useDatabase()

/** What a handler does too late, and how it hears of it: by a refusal, or only in the worker's log. */
const lateActs: Readonly<Record<string, (run: Run) => unknown>> = {
  step: (run) => run.step('late', () => 'late'),
  transaction: (run) => run.transaction('late transaction', async (tx) => void (await tx.query('select 1'))),
  now: (run) => run.now(),
  random: (run) => run.random(),
  uuid: (run) => run.uuid(),
  progress: (run) => run.progress('late'),
  'a returned value': () => 'late',
  'an error': () => Promise.reject(new Error('late')),
  'run.retry': (run) => run.retry('1h', 'late'),
  'run.snooze': (run) => run.snooze('1h', 'late'),
  'run.fail': (run) => run.fail('late'),
}
const refusedToHandler = ['step', 'transaction', 'now', 'random', 'uuid']

let first: { entered: number; readonly go: ReturnType<typeof signal<void>> }
let second: { entered: number; readonly go: ReturnType<typeof signal<void>> }
const heard = new Map<string, unknown>()

const late = defineWorkflow({
  name: 'late',
  lease: '1.5s',
  input: z.string(),
  handler: async (act, run) => {
    if (run.attempt === 1) {
      first.entered += 1
      await first.go.promise
      try {
        return (await lateActs[act]?.(run)) as string
      } catch (error) {
        heard.set(act, error)
        throw error
      }
    }
    second.entered += 1
    await second.go.promise
    return await run.step('own', () => `${act} of attempt ${run.attempt}`)
  },
})

beforeEach(() => {
  heard.clear()
  first = { entered: 0, go: signal() }
  second = { entered: 0, go: signal() }
})

test('LEASE-05: whatever the handler of a lost claim still does changes nothing, and is refused', async () => {
  const acts = Object.keys(lateActs)
  const client = openClient(database)
  const logger = recordingLogger()
  const stalled = { workflows: [late], concurrency: acts.length, clock: new HandClock(), logger }
  await startWorker(database, stalled)
  const runs = await Promise.all(acts.map((act) => client.start(late, act)))
  const ids = runs.map((run) => run.id)
  await vi.waitFor(() => expect(first.entered).toBe(acts.length), 10_000)
  await startWorker(database, { workflows: [late] })
  await expire(database, ...ids)
  await vi.waitFor(() => expect(second.entered).toBe(acts.length), 10_000)

  const before = await Promise.all(ids.map((id) => recordBesideLease(database, id)))
  first.go.give()
  // A claim that was refused is told of in the log, once.
  const refusals = (): LogLine[] => logger.lines.filter(({ message }) => message.includes('lease was lost'))
  await vi.waitFor(() => expect(refusals()).toHaveLength(acts.length), 10_000)
  expect(new Set(refusals().map(({ fields }) => fields['runId']))).toEqual(new Set(ids))
  expect(refusals().every(({ fields }) => fields['reason'] === 'superseded')).toBe(true)
  expect(await Promise.all(ids.map((id) => recordBesideLease(database, id)))).toEqual(before)
  for (const act of refusedToHandler) {
    expect(heard.get(act)).toBeInstanceOf(LeaseLostError)
    expect(heard.get(act)).toMatchObject({ reason: 'superseded' })
  }

  second.go.give()
  expect(await Promise.all(runs.map((run) => client.result(run)))).toEqual(acts.map((act) => `${act} of attempt 2`))
})

test('LEASE-05: a claim that its own worker has lost to itself can write nothing any more', async () => {
  const client = openClient(database)
  const clock = new HandClock()
  const logger = recordingLogger()
  await startWorker(database, { workflows: [late], concurrency: 2, clock, logger })
  const started = await client.start(late, 'step')
  await vi.waitFor(() => expect(first.entered).toBe(1), 10_000)
  await loseLease(database, started.id)
  // Its own renewal tells it, and only then does it take the run again.
  await clock.advance(500)
  await vi.waitFor(() => expect(second.entered).toBe(1), 10_000)
  const before = await recordBesideLease(database, started.id)
  first.go.give()
  await vi.waitFor(() => expect(heard.get('step')).toBeInstanceOf(LeaseLostError), 10_000)
  expect(await recordBesideLease(database, started.id)).toEqual(before)
  second.go.give()
  expect(await client.result(started)).toBe('step of attempt 2')
})

test("LEASE-06: the repeated attempt number of a put-off run does not let its first claim's handler back in", async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [late], concurrency: 1, clock: new HandClock() })
  const started = await client.start(late, 'step')
  await vi.waitFor(() => expect(first.entered).toBe(1), 10_000)
  await loseLease(database, started.id)
  const y = await claimByHand(database, started.id)
  expect(await y.settle({ ...outcomes.snooze, delayMs: 1 })).toBeUndefined()
  await startWorker(database, { workflows: [late] })
  await vi.waitFor(() => expect(second.entered).toBe(1), 10_000)

  const before = await recordBesideLease(database, started.id)
  first.go.give()
  await vi.waitFor(() => expect(heard.get('step')).toMatchObject({ code: 'LEASE_LOST', reason: 'superseded' }), 10_000)
  expect(await recordBesideLease(database, started.id)).toEqual(before)
  second.go.give()
  expect(await client.result(started)).toBe('step of attempt 2')
})
