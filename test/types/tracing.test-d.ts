// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import { metrics, trace } from '@opentelemetry/api'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { NodeTracerProvider, ParentBasedSampler, type Sampler } from '@opentelemetry/sdk-trace-node'
import { createClient, createWorker } from '../../src/index.ts'
import type {
  ClaimOutcome,
  ClaimView,
  Client,
  MeterProviderLike,
  TracerProviderLike,
  TracingOptions,
  Workflow,
} from '../../src/index.ts'
import { runSampler, startTelemetry } from '../../src/otel.ts'
import type { RunningTelemetry, RunSampler, StartTelemetryOptions } from '../../src/otel.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

declare const workflows: readonly Workflow[]
declare const client: Client

// The providers of the API, and those of the SDK.
const tracerProviders: readonly TracerProviderLike[] = [trace.getTracerProvider(), new NodeTracerProvider()]
const meterProviders: readonly MeterProviderLike[] = [metrics.getMeterProvider(), new MeterProvider()]
createClient({ tracerProvider: new NodeTracerProvider(), meterProvider: new MeterProvider(), traceUrl: '{traceId}' })
createWorker({ workflows, tracerProvider: trace.getTracerProvider(), tracing: { propagation: 'child', runKey: true } })
void [tracerProviders, meterProviders]
// @ts-expect-error -- a tracer is no provider
createClient({ tracerProvider: trace.getTracer('mine') })
// @ts-expect-error -- there are three
createClient({ tracing: { propagation: 'links' } })
// @ts-expect-error -- a worker shows nobody a run
createWorker({ workflows, traceUrl: '{traceId}' })
expectType<Equal<TracingOptions['groupKey'], boolean | undefined>>()

// It is a sampler of the SDK, and fits into others.
const sampler: Sampler = runSampler(0.1)
const own: RunSampler = runSampler(1)
new NodeTracerProvider({ sampler: new ParentBasedSampler({ root: own }) })
void sampler
// @ts-expect-error -- a share is a number
runSampler('0.1')

const options: StartTelemetryOptions = { serviceName: 'shop', headers: { 'x-key': 'a' }, metricsEvery: '10s' }
expectType<Equal<ReturnType<typeof startTelemetry>, Promise<RunningTelemetry>>>()
void startTelemetry(options)
// @ts-expect-error -- under what name?
void startTelemetry({ ratio: 1 })

const view = await client.get('id')
expectType<Equal<NonNullable<typeof view>['claims'], readonly ClaimView[] | undefined>>()
expectType<Equal<ClaimView['outcome'], ClaimOutcome | undefined>>()
