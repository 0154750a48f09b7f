import { context, metrics, trace, type Span, type TraceState } from '@opentelemetry/api'
import { NodeTracerProvider, SamplingDecision } from '@opentelemetry/sdk-trace-node'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createClient, defineWorkflow, type Logger } from '../../src/index.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import { useDatabase } from '../support/database.ts'
import { names, optionsFor } from '../support/variant.ts'
import { openClient, recordingLogger, startWorker } from '../support/worker.ts'
import { work, type Work } from './hostile-deeds.ts'
import { OwnContextManager } from './own-context-manager.ts'

const database = useDatabase()
let untold: Work

beforeAll(async () => void (untold = await work(database)))
afterEach(() => {
  context.disable()
  trace.disable()
  metrics.disable()
})
const schema = names.schema
const broken = (): never => {
  throw new Error('Telemetry is broken.')
}
const within = { timeout: 12_000 }

test('TRACE-03: a span whose context throws from the second call on changes no run', within, async () => {
  const tracer = new NodeTracerProvider().getTracer('hostile')
  const startSpan = (...how: Parameters<typeof tracer.startSpan>): Span => {
    const span = tracer.startSpan(...how)
    const real = span.spanContext.bind(span)
    let calls = 0
    return Object.assign(span, { spanContext: () => (calls++ === 0 ? real() : broken()) })
  }
  const tracerProvider = { getTracer: () => ({ startSpan, startActiveSpan: broken }) }
  const told = await work(database, (log) => new Telemetry({ tracerProvider, schema, log }))
  expect(told.deeds).toEqual(untold.deeds)
})

test('TRACE-03: a provider that gives no tracer keeps nobody from making a client or a worker', async () => {
  const tracerProvider = { getTracer: broken }
  const log = recordingLogger()
  const client = createClient({ ...optionsFor(database), migrate: 'off', tracerProvider, logger: log })
  await client.close()
  expect(() => new Telemetry({ tracerProvider, schema, log })).not.toThrow()
})

test('TRACE-03: a trace state that cannot be written changes no run', within, async () => {
  const traceState = { serialize: broken } as unknown as TraceState
  const tracerProvider = new NodeTracerProvider({
    sampler: { shouldSample: () => ({ decision: SamplingDecision.RECORD_AND_SAMPLED, traceState }) },
  })
  context.setGlobalContextManager(new OwnContextManager())
  const told = await work(database, (log) => new Telemetry({ tracerProvider, schema, log }))
  expect(told.deeds).toEqual(untold.deeds)
})

test('TRACE-03: a logger that throws when told of it changes no run', within, async () => {
  const tracerProvider = { getTracer: () => ({ startSpan: broken, startActiveSpan: broken }) }
  const log: Logger = { debug: broken, info: broken, warn: broken, error: broken }
  const told = await work(database, () => new Telemetry({ tracerProvider, schema, log }))
  expect(told.deeds).toEqual(untold.deeds)
})

class UnnamedError extends Error {
  override get name(): string {
    throw new Error('It has no name.')
  }
}

test.each([
  ['whose name throws', () => new UnnamedError('What went wrong.')],
  ['that is a revoked proxy', () => revoked()],
  ['without a prototype', () => Object.create(null) as object],
])('TRACE-03: an error %s is kept as without telemetry', within, async (_, thrown) => {
  const flow = defineWorkflow({
    name: 'unnamed',
    maxAttempts: 1,
    handler: (_input, run) =>
      run
        .step('fails', () => {
          throw thrown() as Error
        })
        .catch((error: unknown) => (error as Error).message),
  })
  const client = openClient(database)
  const plain = await startWorker(database, { workflows: [flow] })
  const untoldMessage = await client.result(await client.start(flow))
  await plain.stop()
  const log = recordingLogger()
  const tracerProvider = new NodeTracerProvider()
  await startWorker(database, { workflows: [flow], telemetry: new Telemetry({ schema, log, tracerProvider }) })
  expect(await client.result(await client.start(flow))).toBe(untoldMessage)
  expect(log.lines).toEqual([])
})

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
