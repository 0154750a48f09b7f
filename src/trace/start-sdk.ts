import { metrics, trace, type TracerProvider } from '@opentelemetry/api'
import { parseDuration } from '../model/duration.ts'
import { ConfigError } from '../model/errors.ts'
import type { Duration } from '../model/policy.ts'
import { runSampler } from './sampler.ts'

/** What `startTelemetry` takes. */
export interface StartTelemetryOptions {
  /** Under what name spans and metrics come in, such as `orders-worker`. */
  serviceName: string
  /**
   * Where an OTLP/HTTP receiver is, without `/v1/traces`. Default: OTEL_EXPORTER_OTLP_ENDPOINT, else
   * http://localhost:4318.
   */
  endpoint?: string | undefined
  /** Sent with each export, such as an API key. Default: OTEL_EXPORTER_OTLP_HEADERS. */
  headers?: Readonly<Record<string, string>> | undefined
  /** The share of runs that are traced, from 0 to 1. Default: 1. */
  ratio?: number | undefined
  /** Between two exports of metrics. Default: 60s. */
  metricsEvery?: Duration | undefined
}

/** What `startTelemetry` has begun. */
export interface RunningTelemetry {
  /** Sends what has not been sent. */
  flush(): Promise<void>
  /** The same, and ends it. Call it after `worker.stop()`. */
  shutdown(): Promise<void>
}

const packages = [
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/exporter-metrics-otlp-proto',
] as const

/**
 * Gives this process an OpenTelemetry SDK that exports spans and metrics by OTLP/HTTP, for whoever has none yet. Call it
 * before the first client or worker is made.
 *
 * @throws ConfigError if an option is wrong, the SDK's packages are not installed, or there is an SDK in this process
 *   already: Holdfast uses that one as it is.
 */
export async function startTelemetry(options: StartTelemetryOptions): Promise<RunningTelemetry> {
  const { serviceName, endpoint, headers, ratio = 1, metricsEvery = '60s' } = options
  requireGood('serviceName', typeof serviceName === 'string' && serviceName !== '', "a name, such as 'orders-worker'")
  requireGood('endpoint', endpoint === undefined || isAddress(endpoint), 'an address, such as http://localhost:4318')
  requireGood('headers', isTexts(headers ?? {}), "texts by their names, such as { 'x-api-key': '…' }")
  const sampler = runSampler(ratio)
  const everyMs = parseDuration(metricsEvery, 'metricsEvery')
  requireGood('metricsEvery', everyMs >= 1, 'a duration of at least 1 ms')
  const sdk = await load()
  const resource = sdk.defaultResource().merge(sdk.resourceFromAttributes({ 'service.name': serviceName }))
  const to = (path: string): { url?: string; headers?: Record<string, string> } => ({
    ...(endpoint === undefined ? {} : { url: `${endpoint.replace(/\/$/, '')}${path}` }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
  })
  const processor = new sdk.BatchSpanProcessor(new sdk.OTLPTraceExporter(to('/v1/traces')))
  const spans = new sdk.NodeTracerProvider({ resource, sampler, spanProcessors: [processor] })
  requireNone(spans)
  // With it come the context that follows async calls, and W3C's propagation.
  spans.register()
  const exporter = new sdk.OTLPMetricExporter(to('/v1/metrics'))
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: everyMs,
    exportTimeoutMillis: Math.min(everyMs, 30_000),
  })
  const meters = new sdk.MeterProvider({ resource, readers: [reader] })
  metrics.setGlobalMeterProvider(meters)
  const both = async (act: (provider: typeof spans | typeof meters) => Promise<void>): Promise<void> => {
    await Promise.allSettled([act(spans), act(meters)])
  }
  return {
    flush: () => both((provider) => provider.forceFlush()),
    shutdown: () => both((provider) => provider.shutdown()),
  }
}

/** Each is put in its place and taken out again: that is how the API says whether the place is taken. */
function requireNone(spans: TracerProvider): void {
  const hasMeters = !metrics.setGlobalMeterProvider(metrics.getMeterProvider())
  if (!hasMeters) metrics.disable()
  const hasSpans = !trace.setGlobalTracerProvider(spans)
  if (!hasSpans) trace.disable()
  if (!hasMeters && !hasSpans) return
  throw new ConfigError('startTelemetry: this process has an OpenTelemetry SDK already.', {
    remedy: 'Leave startTelemetry out: Holdfast uses the SDK that is there. runSampler fits it too.',
  })
}

function requireGood(field: keyof StartTelemetryOptions, isGood: boolean, wanted: string): void {
  if (!isGood) throw new ConfigError(`startTelemetry: ${field} is wrong.`, { field, remedy: `Give ${wanted}.` })
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^https?:/.test(value) && URL.canParse(value)
}

function isTexts(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((each) => typeof each === 'string')
}

async function load() {
  try {
    const [resources, spans, meters, traceExporter, metricExporter] = await Promise.all([
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/exporter-metrics-otlp-proto'),
    ])
    return { ...resources, ...spans, ...meters, ...traceExporter, ...metricExporter }
  } catch (cause) {
    throw new ConfigError("startTelemetry: the SDK's packages are not installed.", {
      remedy: `Run: npm install ${packages.join(' ')}`,
      cause,
    })
  }
}
