import {
  createNoopMeter,
  type Context,
  type ContextManager,
  type Meter,
  type MeterProvider,
  type Span,
  type SpanOptions,
  type TracerProvider,
} from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { MeterProvider as SdkMeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, NodeTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-node'
import { startOtlpReceiver } from '../support/otlp-receiver.ts'
import { OwnContextManager, type Instead } from './own-context-manager.ts'

/** Telemetry as nobody wants it. */
export interface Hostile {
  readonly tracerProvider?: TracerProvider
  readonly meterProvider?: MeterProvider
  readonly contextManager?: ContextManager
  readonly close?: () => Promise<unknown>
}

export interface HostileKind {
  readonly name: string
  /** Who must say that telemetry threw. Errors that an SDK keeps to itself nobody hears of. */
  readonly toldBy: readonly ('client' | 'worker')[]
  /** `worst` throws; `hit` only says that the worst was done. */
  readonly make: (worst: () => never, hit: () => void) => Hostile | Promise<Hostile>
}

const both = ['client', 'worker'] as const
const nothing = (): void => undefined

function processing(own: Partial<SpanProcessor>): TracerProvider {
  const processor = { onStart: nothing, onEnd: nothing, forceFlush: async () => {}, shutdown: async () => {}, ...own }
  return new NodeTracerProvider({ spanProcessors: [processor] })
}

/** Real spans, but for those methods. */
function spansWith(worst: () => never, isBroken: (method: keyof Span, calls: number) => boolean): TracerProvider {
  const tracer = new NodeTracerProvider().getTracer('hostile')
  const broken = (span: Span): Span => {
    const calls = new Map<PropertyKey, number>()
    return new Proxy(span, {
      get: (target, method) => {
        const made = (calls.get(method) ?? 0) + 1
        calls.set(method, made)
        const real: unknown = Reflect.get(target, method)
        if (typeof real !== 'function') return real
        return isBroken(method as keyof Span, made) ? worst : real.bind(target)
      },
    })
  }
  return tracing((...how) => broken(tracer.startSpan(...how)))
}

function tracing(startSpan: (name: string, options?: SpanOptions, context?: Context) => Span): TracerProvider {
  return { getTracer: () => ({ startSpan, startActiveSpan: () => undefined as never }) }
}

function meteringWith(own: Partial<Meter>): MeterProvider {
  return { getMeter: () => Object.assign(Object.create(createNoopMeter()) as Meter, own) }
}

/** Exports all the time, and gives each export up soon. */
function exportingTo(endpoint: string, hit: () => void, close: () => Promise<void> = async () => {}): Hostile {
  const soon = 100
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: soon })
  const send = exporter.export.bind(exporter)
  exporter.export = (...args) => {
    hit()
    send(...args)
  }
  const batches = { scheduledDelayMillis: 10, exportTimeoutMillis: soon, maxExportBatchSize: 4, maxQueueSize: 8 }
  const spans = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter, batches)] })
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: `${endpoint}/v1/metrics`, timeoutMillis: soon }),
    exportIntervalMillis: soon,
    exportTimeoutMillis: soon,
  })
  const meters = new SdkMeterProvider({ readers: [reader] })
  return {
    tracerProvider: spans,
    meterProvider: meters,
    close: async () => {
      await Promise.allSettled([spans.shutdown(), meters.shutdown()])
      await close()
    },
  }
}

/** A processor that makes as many spans of its own of each of ours. */
function flooding(hit: () => void, count: number): TracerProvider {
  const provider = processing({
    onEnd: ({ instrumentationScope }) => {
      if (instrumentationScope.name !== 'holdfast') return
      hit()
      const tracer = provider.getTracer('flood')
      for (let made = 0; made < count; made++) tracer.startSpan('drop').end()
    },
  })
  return provider
}

function managing(instead: Instead): Hostile {
  return { contextManager: new OwnContextManager(instead), tracerProvider: new NodeTracerProvider() }
}

function of(tracerProvider: TracerProvider): Hostile {
  return { tracerProvider }
}

export const hostileKinds: readonly HostileKind[] = [
  { name: "a processor's onStart that throws", toldBy: both, make: (worst) => of(processing({ onStart: worst })) },
  { name: "a processor's onEnd that throws", toldBy: both, make: (worst) => of(processing({ onEnd: worst })) },
  {
    name: 'a sampler that throws',
    toldBy: both,
    make: (worst) => of(new NodeTracerProvider({ sampler: { shouldSample: worst } })),
  },
  {
    name: 'an id generator that throws',
    toldBy: both,
    make: (worst) => of(new NodeTracerProvider({ idGenerator: { generateTraceId: worst, generateSpanId: worst } })),
  },
  { name: 'a tracer that throws', toldBy: both, make: (worst) => of(tracing(worst)) },
  { name: 'a tracer that makes nothing', toldBy: ['worker'], make: (_, hit) => of(tracing(() => hit() as never)) },
  { name: 'spans that always throw', toldBy: both, make: (worst) => of(spansWith(worst, () => true)) },
  {
    name: 'spans that throw but for their context',
    toldBy: both,
    make: (worst) => of(spansWith(worst, (method) => method !== 'spanContext')),
  },
  {
    name: 'a context manager that throws instead of calling',
    toldBy: ['worker'],
    make: (worst) => managing({ with: worst }),
  },
  {
    name: 'a context manager that throws after it called',
    toldBy: ['worker'],
    make: (worst) => managing({ with: (call) => [call(), worst()] }),
  },
  {
    name: 'a context manager that calls twice',
    toldBy: [],
    make: (_, hit) => managing({ with: (call) => [hit(), call(), call()].at(-1) }),
  },
  { name: 'a context manager that has none', toldBy: both, make: (worst) => managing({ active: worst }) },
  {
    name: 'instruments that throw',
    toldBy: both,
    make: (worst) => ({
      meterProvider: meteringWith({
        createHistogram: () => ({ record: worst }),
        createCounter: () => ({ add: worst }),
        createUpDownCounter: () => ({ add: worst }),
      }),
    }),
  },
  {
    name: 'a meter that makes no histogram',
    toldBy: both,
    make: (worst) => ({ meterProvider: meteringWith({ createHistogram: worst }) }),
  },
  { name: 'a provider without a meter', toldBy: both, make: (worst) => ({ meterProvider: { getMeter: worst } }) },
  {
    name: 'a meter that takes no callback',
    toldBy: ['worker'],
    make: (worst) => ({
      meterProvider: meteringWith({ addBatchObservableCallback: worst, removeBatchObservableCallback: worst }),
    }),
  },
  {
    name: 'a receiver that answers 500',
    toldBy: [],
    make: async (_, hit) => {
      const receiver = await startOtlpReceiver((response) => void response.writeHead(500).end())
      return exportingTo(receiver.endpoint, hit, receiver.close)
    },
  },
  {
    name: 'a receiver that never answers',
    toldBy: [],
    make: async (_, hit) => {
      const receiver = await startOtlpReceiver(nothing)
      return exportingTo(receiver.endpoint, hit, receiver.close)
    },
  },
  {
    name: 'a receiver that is gone',
    toldBy: [],
    make: async (_, hit) => {
      const receiver = await startOtlpReceiver()
      await receiver.close()
      return exportingTo(receiver.endpoint, hit)
    },
  },
  { name: 'a flood of spans', toldBy: [], make: (_, hit) => of(flooding(hit, 10_000)) },
]
