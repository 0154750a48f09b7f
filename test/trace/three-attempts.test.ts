import { context, trace } from '@opentelemetry/api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTelemetry, type RunningTelemetry } from '../../src/otel.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker, type ForkedWorker } from '../support/fork-worker.ts'
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts'
import { becomes, letPass } from '../support/waiting.ts'
import { openClient } from '../support/worker.ts'
import { order } from './traced-workflows.ts'

const database = useDatabase()
const module = new URL('traced-workflows.ts', import.meta.url)
let receiver: OtlpReceiver
let api: RunningTelemetry

beforeAll(async () => {
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = '100'
  receiver = await startOtlpReceiver()
  api = await startTelemetry({ serviceName: 'api', endpoint: receiver.endpoint })
})

afterAll(async () => {
  await api.shutdown()
  await receiver.close()
})

function workerOf(attempt: number): Promise<ForkedWorker> {
  const otlp = { endpoint: receiver.endpoint, serviceName: `worker-${attempt}` }
  return forkWorker(database, { module, otlp })
}

test('TRACE-01: three attempts in three processes, one of them killed, are three claims of one run in the trace', async () => {
  const client = openClient(database)
  const request = trace.getTracer('shop').startSpan('POST /orders')
  const run = await context.with(trace.setSpan(context.active(), request), () => client.start(order))
  request.end()
  await api.flush()

  const first = await workerOf(1)
  await becomes(client, run, 'scheduled')
  await first.terminate()
  await letPass(database, run.id, '2 hours')

  const second = await workerOf(2)
  await second.hear('charging')
  await expect.poll(async () => (await client.get(run))?.claims?.[0]?.traceId).toBeDefined()
  await second.kill()

  const third = await workerOf(3)
  expect(await client.result(run)).toBe('sent')
  await third.terminate()

  const claims = (await client.get(run))?.claims?.toReversed() ?? []
  expect(claims.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
    [1, 'retry'],
    [2, 'lease_lost'],
    [3, 'done'],
  ])
  const spans = receiver.spans.filter((span) => span.attributes['holdfast.run.id'] === run.id)
  const [start] = spansNamed(spans, 'start order')
  const [failed, done] = spansNamed(spans, 'run order')

  // The start is the request's, and each claim a trace of its own, linked to what came before it.
  expect(start).toMatchObject({ service: 'api', kind: 4, parentSpanId: request.spanContext().spanId, status: 0 })
  expect(spansNamed(spans, 'run order')).toHaveLength(2)
  const started = { traceId: start?.traceId, spanId: start?.spanId, type: 'started_by' }
  expect(failed).toMatchObject({ service: 'worker-1', kind: 5, parentSpanId: undefined, links: [started] })
  const killed = { traceId: claims[1]?.traceId, spanId: claims[1]?.spanId, type: 'previous_claim' }
  expect(done).toMatchObject({ service: 'worker-3', kind: 5, parentSpanId: undefined, links: [started, killed] })
  // What was killed has exported nothing, and is on record all the same.
  expect(claims.map(({ traceId }) => traceId)).toEqual([failed?.traceId, killed.traceId, done?.traceId])
  expect(new Set([start?.traceId, ...claims.map(({ traceId }) => traceId)]).size).toBe(4)

  expect(failed).toMatchObject({
    status: 2,
    attributes: {
      'error.type': 'CardRefusedError',
      'holdfast.claim.outcome': 'retry',
      'holdfast.retry.delay': 3600,
      'holdfast.attempt.number': 1,
      'holdfast.attempt.max': 5,
      'holdfast.claim.token': 1,
      'holdfast.steps.recalled': 0,
      'holdfast.replay.command': expect.stringMatching(new RegExp(`^workflow replay ${run.id} --attempt 1`)) as string,
      'messaging.system': 'holdfast',
      'messaging.operation.name': 'run',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'order',
      'messaging.message.id': run.id,
      'messaging.message.conversation_id': run.id,
    },
    // The step that threw it has it.
    events: [],
  })
  expect(done).toMatchObject({
    status: 0,
    attributes: { 'holdfast.claim.outcome': 'done', 'holdfast.attempt.number': 3, 'holdfast.steps.recalled': 2 },
  })

  // Each body that ran is one span; what was recalled is none.
  const steps = spans.filter(({ kind }) => kind === 1)
  expect(steps.map(({ name, service, parentSpanId, status }) => [name, service, parentSpanId, status])).toEqual([
    ['step reserve', 'worker-1', failed?.spanId, 0],
    ['step charge', 'worker-1', failed?.spanId, 2],
    ['step charge', 'worker-3', done?.spanId, 0],
  ])
  expect(steps[1]).toMatchObject({
    attributes: { 'error.type': 'CardRefusedError', 'holdfast.step.key': 'charge', 'holdfast.step.try': 1 },
    events: [{ name: 'exception', attributes: { 'exception.message': 'The card was refused.' } }],
  })
  // A span of the user's is where its step was.
  const [stock] = spansNamed(receiver.spans, 'GET /stock')
  expect(stock).toMatchObject({ traceId: failed?.traceId, parentSpanId: steps[0]?.spanId })
})

function spansNamed(spans: readonly ReceivedSpan[], name: string): readonly ReceivedSpan[] {
  return spans.filter((span) => span.name === name)
}
