import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

/** What an OTLP/HTTP receiver got, as plain values. Field names are OTLP's own. */

export interface ReceivedSpan {
  readonly service: string
  readonly name: string
  /** 1 INTERNAL, 4 PRODUCER, 5 CONSUMER. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** 0 UNSET, 2 ERROR. */
  readonly status: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[]
  readonly links: readonly ReceivedLink[]
}

export interface ReceivedLink {
  readonly traceId: string
  readonly spanId: string
  readonly type: unknown
}

export interface ReceivedPoint {
  readonly service: string
  readonly metric: string
  readonly unit: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** Of a histogram: how many were recorded. */
  readonly value: number
  readonly bounds: readonly number[] | undefined
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Point {
  readonly attributes?: readonly Attribute[]
  readonly asInt?: number | string
  readonly asDouble?: number
  readonly count?: number | string
  readonly explicitBounds?: readonly number[]
}

interface Metric {
  readonly name: string
  readonly unit: string
  readonly gauge?: { readonly dataPoints: readonly Point[] }
  readonly sum?: { readonly dataPoints: readonly Point[] }
  readonly histogram?: { readonly dataPoints: readonly Point[] }
}

interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly status?: { readonly code?: number }
  readonly attributes?: readonly Attribute[]
  readonly events?: readonly { readonly name: string; readonly attributes?: readonly Attribute[] }[]
  readonly links?: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly attributes?: readonly Attribute[]
  }[]
}

interface Resource {
  readonly attributes: readonly Attribute[]
}

interface Body {
  readonly resourceSpans?: readonly { resource: Resource; scopeSpans: readonly { spans: readonly Span[] }[] }[]
  readonly resourceMetrics?: readonly { resource: Resource; scopeMetrics: readonly { metrics: readonly Metric[] }[] }[]
}

export interface OtlpReceiver {
  /** To be given to an exporter, without a path. */
  readonly endpoint: string
  /** As they came, one JSON text an export. */
  readonly bodies: readonly string[]
  readonly spans: readonly ReceivedSpan[]
  readonly points: readonly ReceivedPoint[]
  close(): Promise<void>
}

const accept = (response: ServerResponse): void => void response.writeHead(200).end('{}')

/** A receiver on a free port of this machine. `answer` may do something else than accept. */
export async function startOtlpReceiver(answer: (response: ServerResponse) => void = accept): Promise<OtlpReceiver> {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      bodies.push((request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString())
      answer(response)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bodies,
    get spans() {
      return bodies.flatMap(spansOf)
    },
    get points() {
      return bodies.flatMap(pointsOf)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}

function spansOf(body: string): ReceivedSpan[] {
  return ((JSON.parse(body) as Body).resourceSpans ?? []).flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: serviceOf(resource),
        name: span.name,
        kind: span.kind,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId === '' ? undefined : span.parentSpanId,
        status: span.status?.code ?? 0,
        attributes: valuesOf(span.attributes),
        events: (span.events ?? []).map((event) => ({ name: event.name, attributes: valuesOf(event.attributes) })),
        links: (span.links ?? []).map((link) => ({
          traceId: link.traceId,
          spanId: link.spanId,
          type: valuesOf(link.attributes)['holdfast.link.type'],
        })),
      })),
    ),
  )
}

function pointsOf(body: string): ReceivedPoint[] {
  return ((JSON.parse(body) as Body).resourceMetrics ?? []).flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap((metric) => {
        const { dataPoints = [] } = metric.gauge ?? metric.sum ?? metric.histogram ?? {}
        return dataPoints.map((point) => ({
          service: serviceOf(resource),
          metric: metric.name,
          unit: metric.unit,
          attributes: valuesOf(point.attributes),
          value: Number(point.asInt ?? point.asDouble ?? point.count),
          bounds: point.explicitBounds,
        }))
      }),
    ),
  )
}

function serviceOf({ attributes }: Resource): string {
  return String(valuesOf(attributes)['service.name'])
}

function valuesOf(attributes: readonly Attribute[] = []): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value: { intValue, ...value } }) => [
      key,
      intValue === undefined ? Object.values(value)[0] : Number(intValue),
    ]),
  )
}
