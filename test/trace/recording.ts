import { metrics, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node'
import { afterAll, beforeEach } from 'vitest'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import type { TelemetryOptions } from '../../src/trace/tracing.ts'
import { variant } from '../support/variant.ts'

/** An SDK for the whole process, whose spans stay here. */
export interface Recording {
  readonly spans: readonly ReadableSpan[]
  named(name: string): readonly ReadableSpan[]
  /** What a worker of this process tells. */
  telemetry(options?: Partial<TelemetryOptions>): Telemetry
}

/** Of each test its own spans. */
export function useRecording(): Recording {
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
  beforeEach(() => exporter.reset())
  afterAll(() => {
    trace.disable()
    metrics.disable()
  })
  return {
    get spans() {
      return exporter.getFinishedSpans()
    },
    named: (name) => exporter.getFinishedSpans().filter((span) => span.name === name),
    telemetry: (options) => new Telemetry({ schema: variant.schema ?? 'holdfast', log: silentLogger, ...options }),
  }
}

export interface Linked {
  readonly type: unknown
  readonly spanId: string
}

export function linksOf(span: ReadableSpan | undefined): readonly Linked[] {
  return (span?.links ?? []).map(({ context, attributes }) => ({
    type: attributes?.['holdfast.link.type'],
    spanId: context.spanId,
  }))
}

export function idOf(span: ReadableSpan | undefined): string {
  return span?.spanContext().spanId ?? 'none'
}
