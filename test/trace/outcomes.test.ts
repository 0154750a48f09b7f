import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, NonRetryableError, type Client, type Run, type Started } from '../../src/index.ts'
import { useDatabase, type TestDatabase } from '../support/database.ts'
import { expire, sweepLeases } from '../support/claim-by-hand.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import type { WorkerCore } from '../../src/worker/worker.ts'
import { useRecording } from './recording.ts'

const database = useDatabase()
const recording = useRecording()

class LateError extends Error {
  override readonly name = 'LateError'
}

interface Case {
  readonly outcome: string
  readonly errorType?: string
  readonly maxAttempts?: number
  /** Says `begun` once the test may act. */
  readonly handler: (run: Run, begun: () => void) => unknown
  readonly act?: (to: { client: Client; worker: WorkerCore; run: Started; database: TestDatabase }) => Promise<unknown>
  readonly attributes?: object
}

/** Says that it has begun, and never ends. */
const forever = (_: Run, begun: () => void): Promise<never> => {
  begun()
  return new Promise(() => undefined)
}
const late = (): never => {
  throw new LateError('It is late.')
}

const cases: readonly Case[] = [
  { outcome: 'done', handler: () => 1 },
  { outcome: 'retry', errorType: 'LateError', handler: late, attributes: { 'holdfast.retry.delay': 3600 } },
  {
    outcome: 'retry',
    errorType: 'retry',
    handler: (run) => run.retry('2h'),
    attributes: { 'holdfast.retry.delay': 7200 },
  },
  { outcome: 'snooze', handler: (run) => run.snooze('1h'), attributes: { 'holdfast.retry.delay': 3600 } },
  { outcome: 'failed', errorType: 'rejected', handler: (run) => run.fail('no') },
  { outcome: 'failed', errorType: 'LateError', maxAttempts: 1, handler: late },
  {
    outcome: 'failed',
    errorType: 'NonRetryableError',
    handler: () => {
      throw new NonRetryableError('Never.')
    },
  },
  { outcome: 'suspended', handler: (run) => run.sleep('nap', '1h') },
  { outcome: 'parked', handler: (run) => run.park('ask', { reason: 'May it?', schema: z.boolean() }) },
  {
    outcome: 'cancelled',
    handler: forever,
    act: ({ client, run }) => client.cancel(run),
  },
  {
    outcome: 'released',
    handler: forever,
    act: ({ worker }) => worker.stop({ grace: 0 }),
  },
  {
    outcome: 'lease_lost',
    // By the renewal it may be claimed anew.
    errorType: expect.stringMatching(/^(not_found|superseded)$/) as string,
    handler: forever,
    act: async ({ run, database: on }) => {
      await expire(on, run.id)
      await sweepLeases(on)
    },
  },
]

test.each(cases)('TRACE-01: a claim that ends as $outcome says so (%#)', async (each) => {
  const { outcome, errorType, maxAttempts = 3, handler, act, attributes = {} } = each
  const client = openClient(database)
  const begun = signal()
  const name = `ends as ${outcome}`
  const workflow = defineWorkflow({
    name,
    lease: '1.5s',
    maxAttempts,
    retry: { initial: '1h', jitter: 0 },
    handler: (_, run) => {
      if (run.attempt === 1) return handler(run, () => begun.give())
      return undefined
    },
  })
  const worker = await startWorker(database, { workflows: [workflow], telemetry: recording.telemetry() })
  const run = await client.start(workflow)
  if (act) {
    await begun.promise
    await act({ client, worker, run, database })
  }
  await expect.poll(() => recording.named(`run ${name}`).length).toBeGreaterThan(0)
  const [span] = recording.named(`run ${name}`)
  expect(span?.kind).toBe(SpanKind.CONSUMER)
  expect(span?.attributes).toMatchObject({
    'holdfast.claim.outcome': outcome,
    'holdfast.run.id': run.id,
    'holdfast.worker.id': worker.id,
    ...attributes,
  })
  expect(span?.attributes['error.type']).toEqual(errorType)
  expect(span?.status.code).toBe(errorType === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR)
})

test('TRACE-02: an exception is recorded where it was thrown, once', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({
    name: 'throws',
    retry: { initial: '1ms' },
    handler: async (_, run) => {
      await run.step('caught', late).catch(() => undefined)
      await run.step('passed on', late).catch((error: unknown) => {
        if (run.attempt < 3) throw error
      })
      if (run.attempt === 3) throw new LateError('Its own.')
      return 'done'
    },
  })
  await startWorker(database, { workflows: [workflow], telemetry: recording.telemetry() })
  await client.result(await client.start(workflow))
  const events = recording.spans.map(({ name, events: all }) => [
    name,
    all.map((event) => event.attributes?.['exception.message']),
  ])
  const step = (name: string): unknown[] => [`step ${name}`, ['It is late.']]
  const claim = (...own: string[]): unknown[] => ['run throws', own]
  expect(events).toEqual([
    ['start throws', []],
    step('caught'),
    step('passed on'),
    claim(),
    // The first failure was kept once the handler had gone past it: it is recalled.
    step('passed on'),
    claim(),
    step('passed on'),
    claim('Its own.'),
    // Its attempt had failed beside it, so that it is tried again.
    step('passed on'),
    claim(),
  ])
})

test('TRACE-02: each try of a step is a span of its own, and what no body ran for is none', async () => {
  const client = openClient(database)
  const workflow = defineWorkflow({
    name: 'tries',
    handler: async (_, run) => {
      await run.step('flaky', (step) => (step.try < 3 ? late() : 'ok'), { retry: { initial: '1ms', maxTries: 5 } })
      await run.map('all', [1, 2], async () => await run.step('one', () => 1))
      await run.transaction('written', async (tx) => (await tx.query('select 1')).rows.length)
      await run.now()
      await run.uuid()
      await run.version('place', 1, 2)
      await run.sleep('nap', 20)
      return 'done'
    },
  })
  await startWorker(database, { workflows: [workflow], telemetry: recording.telemetry() })
  await client.result(await client.start(workflow))
  const [first, second] = recording.named('run tries')
  const steps = recording.spans.filter(({ kind }) => kind === SpanKind.INTERNAL)
  const said = steps.map(({ name, attributes, status }) => [
    name,
    attributes['holdfast.step.key'],
    attributes['holdfast.step.try'],
    status.code === SpanStatusCode.ERROR,
  ])
  expect(said).toEqual([
    ['step flaky', 'flaky', 1, true],
    ['step flaky', 'flaky', 2, true],
    ['step flaky', 'flaky', 3, false],
    ['step one', 'all[0]/one', 1, false],
    ['step one', 'all[1]/one', 1, false],
    ['step written', 'written', 1, false],
  ])
  expect(steps.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(
    steps.map(() => first?.spanContext().spanId),
  )
  expect(second?.attributes).toMatchObject({ 'holdfast.claim.outcome': 'done', 'holdfast.steps.recalled': 8 })
})
