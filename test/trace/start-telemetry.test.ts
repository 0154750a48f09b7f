import type { IncomingMessage, ServerResponse } from 'node:http'
import { context, metrics, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConfigError, DurationError } from '../../src/model/errors.ts'
import { startTelemetry, type RunningTelemetry, type StartTelemetryOptions } from '../../src/otel.ts'
import { startOtlpReceiver, type OtlpReceiver } from '../support/otlp-receiver.ts'

const running: RunningTelemetry[] = []
const receivers: OtlpReceiver[] = []
const silentMeters = metrics.getMeterProvider()

beforeEach(() => {
  // Where nobody is there, what is sent is soon given up.
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '500')
})

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.shutdown()))
  await Promise.all(receivers.splice(0).map((each) => each.close()))
  trace.disable()
  metrics.disable()
  context.disable()
  propagation.disable()
  vi.unstubAllEnvs()
  vi.doUnmock('@opentelemetry/sdk-metrics')
  vi.resetModules()
})

async function start(options: StartTelemetryOptions): Promise<RunningTelemetry> {
  const telemetry = await startTelemetry(options)
  running.push(telemetry)
  return telemetry
}

async function receive(answer?: (response: ServerResponse) => void): Promise<OtlpReceiver> {
  const receiver = await startOtlpReceiver(answer)
  receivers.push(receiver)
  return receiver
}

function isRegistered(): { readonly spans: boolean; readonly meters: boolean; readonly context: boolean } {
  const key = Symbol('key')
  return {
    spans: trace.getTracer('test').startSpan('a span').isRecording(),
    meters: metrics.getMeterProvider() !== silentMeters,
    context: context.with(ROOT_CONTEXT.setValue(key, true), () => context.active().getValue(key) === true),
  }
}

const nothing = { spans: false, meters: false, context: false }
const everything = { spans: true, meters: true, context: true }

test.each([
  [{}, ConfigError, 'serviceName'],
  [{ serviceName: '' }, ConfigError, 'serviceName'],
  [{ serviceName: 7 }, ConfigError, 'serviceName'],
  [{ serviceName: 'api', ratio: 1.5 }, ConfigError, 'ratio'],
  [{ serviceName: 'api', ratio: '1' }, ConfigError, 'ratio'],
  [{ serviceName: 'api', metricsEvery: 'often' }, DurationError, 'metricsEvery'],
  [{ serviceName: 'api', metricsEvery: -1 }, DurationError, 'metricsEvery'],
  [{ serviceName: 'api', metricsEvery: 0 }, ConfigError, 'metricsEvery'],
  [{ serviceName: 'api', endpoint: 'localhost:4318' }, ConfigError, 'endpoint'],
  [{ serviceName: 'api', endpoint: 4318 }, ConfigError, 'endpoint'],
  [{ serviceName: 'api', headers: { 'x-key': 7 } }, ConfigError, 'headers'],
  [{ serviceName: 'api', headers: 'x-key=7' }, ConfigError, 'headers'],
])('TRACE-03: startTelemetry(%o) is refused before anything is there', async (options, Class, field) => {
  const error: unknown = await start(options as StartTelemetryOptions).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Class)
  expect(error).toMatchObject({ field })
  expect(isRegistered()).toEqual(nothing)
})

test.each(['', '/'])(
  'TRACE-03: startTelemetry sends spans and metrics to an endpoint that ends with "%s"',
  async (end) => {
    const requests: IncomingMessage[] = []
    const receiver = await receive((response) => {
      requests.push(response.req)
      response.writeHead(200).end('{}')
    })
    const endpoint = `${receiver.endpoint}${end}`
    const telemetry = await start({ serviceName: 'api', endpoint, headers: { 'x-api-key': 'key of mine' } })
    expect(isRegistered()).toEqual(everything)
    trace.getTracer('shop').startActiveSpan('POST /orders', (span) => span.end())
    metrics.getMeter('shop').createCounter('orders').add(3)
    await telemetry.flush()
    expect(receiver.spans).toMatchObject([{ service: 'api', name: 'POST /orders' }])
    expect(receiver.points).toMatchObject([{ service: 'api', metric: 'orders', value: 3 }])
    expect(new Set(requests.map(({ url }) => url))).toEqual(new Set(['/v1/metrics', '/v1/traces']))
    expect(requests.map(({ headers }) => headers['x-api-key'])).toEqual(['key of mine', 'key of mine'])
  },
)

test('TRACE-03: startTelemetry sends metrics by itself, as often as it was told to, and keeps the share of runs', async () => {
  const receiver = await receive()
  await start({ serviceName: 'api', endpoint: receiver.endpoint, metricsEvery: '20ms', ratio: 0 })
  metrics.getMeter('shop').createCounter('orders').add(1)
  await expect.poll(() => receiver.points.length).toBeGreaterThan(1)
  expect(isRegistered()).toEqual({ ...everything, spans: false })
})

test('TRACE-03: startTelemetry refuses beside metrics of an SDK alone, and leaves no spans behind', async () => {
  const own = new MeterProvider()
  metrics.setGlobalMeterProvider(own)
  await expect(start({ serviceName: 'api' })).rejects.toThrow(ConfigError)
  expect(isRegistered()).toEqual({ ...nothing, meters: true })
  expect(metrics.getMeterProvider()).toBe(own)
})

test('TRACE-03: startTelemetry leaves an SDK that is there in place', async () => {
  const exporter = new InMemorySpanExporter()
  const own = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  own.register()
  const ownMeters = new MeterProvider()
  metrics.setGlobalMeterProvider(ownMeters)
  const receiver = await receive()
  const error: unknown = await start({ serviceName: 'api', endpoint: receiver.endpoint }).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ConfigError)
  expect(error).toMatchObject({ remedy: expect.stringContaining('runSampler') as string })
  trace.getTracer('shop').startSpan('POST /orders').end()
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['POST /orders'])
  expect(metrics.getMeterProvider()).toBe(ownMeters)
  expect(isRegistered()).toEqual(everything)
  expect([receiver.spans, receiver.points]).toEqual([[], []])
})

test('TRACE-03: a second startTelemetry is refused, and the first goes on', async () => {
  const receiver = await receive()
  const first = await start({ serviceName: 'first', endpoint: receiver.endpoint })
  await expect(start({ serviceName: 'second', endpoint: receiver.endpoint })).rejects.toThrow(ConfigError)
  trace.getTracer('shop').startSpan('POST /orders').end()
  await first.flush()
  expect(receiver.spans).toMatchObject([{ service: 'first', name: 'POST /orders' }])
})

test('TRACE-03: shutdown sends what was not sent, and a second one is no failure', async () => {
  const receiver = await receive()
  const telemetry = await start({ serviceName: 'worker', endpoint: receiver.endpoint })
  trace.getTracer('shop').startSpan('the last').end()
  metrics.getMeter('shop').createCounter('orders').add(1)
  await telemetry.shutdown()
  expect(receiver.spans.map(({ name }) => name)).toEqual(['the last'])
  expect(receiver.points.map(({ metric }) => metric)).toEqual(['orders'])
  await telemetry.shutdown()
  await telemetry.flush()
})

test.each([
  ['is gone', undefined],
  ['refuses', (response: ServerResponse) => void response.writeHead(500).end()],
  ['never answers', () => undefined],
])('TRACE-03: flush and shutdown resolve although the receiver %s', async (_, answer) => {
  const receiver = await receive(answer)
  if (!answer) await receivers.pop()?.close()
  const telemetry = await start({ serviceName: 'worker', endpoint: receiver.endpoint })
  trace.getTracer('shop').startSpan('the last').end()
  metrics.getMeter('shop').createCounter('orders').add(1)
  await expect(telemetry.flush()).resolves.toBeUndefined()
  await expect(telemetry.shutdown()).resolves.toBeUndefined()
})

test('TRACE-03: without the packages of an SDK startTelemetry says what to install', async () => {
  const missing = new Error("Cannot find package '@opentelemetry/sdk-metrics'")
  vi.doMock('@opentelemetry/sdk-metrics', () => {
    throw missing
  })
  const error: unknown = await start({ serviceName: 'api' }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  expect(error).toMatchObject({
    remedy:
      'Run: npm install @opentelemetry/resources @opentelemetry/sdk-trace-node @opentelemetry/sdk-metrics ' +
      '@opentelemetry/exporter-trace-otlp-proto @opentelemetry/exporter-metrics-otlp-proto',
  })
  expect((error as Error).cause).toBeDefined()
  expect(isRegistered()).toEqual(nothing)
})
