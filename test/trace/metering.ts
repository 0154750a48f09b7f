import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import { variant } from '../support/variant.ts'

export interface Point {
  readonly attributes: Readonly<Record<string, unknown>>
  readonly value: number | { readonly count: number; readonly sum?: number }
}

/** An SDK of one worker or client, that collects when it is asked. */
export class Metering {
  readonly provider: MeterProvider
  readonly telemetry: Telemetry
  readonly #reader: PeriodicExportingMetricReader

  constructor() {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    this.#reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
    this.provider = new MeterProvider({ readers: [this.#reader] })
    const schema = variant.schema ?? 'holdfast'
    this.telemetry = new Telemetry({ meterProvider: this.provider, schema, log: silentLogger })
  }

  /** What there is to tell, by metric. */
  async collect(): Promise<ReadonlyMap<string, readonly Point[]>> {
    const { resourceMetrics } = await this.#reader.collect()
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
    return new Map(all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints as readonly Point[]]))
  }

  /** The value of one series, or how many values a histogram has of it; undefined: there is none. */
  async read(name: string, attributes: Readonly<Record<string, unknown>>): Promise<number | undefined> {
    const points = (await this.collect()).get(name) ?? []
    const found = points.find((point) => isSame(point.attributes, attributes))
    return typeof found?.value === 'object' ? found.value.count : found?.value
  }
}

function isSame(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => a[name] === b[name])
}
