/**
 * Reads what OTLP/HTTP exporters send. Of protocol buffers it knows the wire format, and of OTLP the numbers of the fields that
 * tests look at: https://github.com/open-telemetry/opentelemetry-proto, version 1.
 */

/** The values of a message's fields, by number, in the order in which they came. */
type Message = ReadonlyMap<number, readonly (Uint8Array | bigint | number)[]>

/** Four and eight bytes are read as what the field says: a number or, if it counts, an integer. */
function parse(bytes: Uint8Array): Message {
  const fields = new Map<number, (Uint8Array | bigint)[]>()
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Uint8Array => bytes.subarray(at, (at += length))
  while (at < bytes.byteLength) {
    const tag = Number(varint())
    const values = fields.get(tag >> 3) ?? []
    fields.set(tag >> 3, values)
    const type = tag & 7
    if (type === 0) values.push(varint())
    else if (type === 1) values.push(take(8))
    else if (type === 2) values.push(take(Number(varint())))
    else if (type === 5) values.push(take(4))
    else throw new Error(`No field has the wire type ${type}.`)
  }
  return fields
}

const bytesOf = (message: Message, field: number): Uint8Array | undefined =>
  message.get(field)?.[0] as Uint8Array | undefined
const messagesOf = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).map((value) => parse(value as Uint8Array))
const textOf = (message: Message, field: number): string => new TextDecoder().decode(bytesOf(message, field))
const hexOf = (message: Message, field: number): string => Buffer.from(bytesOf(message, field) ?? []).toString('hex')
const countOf = (message: Message, field: number): number => Number(message.get(field)?.[0] ?? 0)

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

type Values = Readonly<Record<string, unknown>>

function attributesOf(message: Message, field: number): Values {
  return Object.fromEntries(
    messagesOf(message, field).map((pair) => [textOf(pair, 1), valueOf(messagesOf(pair, 2)[0])]),
  )
}

function valueOf(value: Message | undefined): unknown {
  if (value?.has(1)) return textOf(value, 1)
  if (value?.has(2)) return countOf(value, 2) === 1
  if (value?.has(3)) return Number(BigInt.asIntN(64, value.get(3)?.[0] as bigint))
  const double = value && bytesOf(value, 4)
  return double && viewOf(double).getFloat64(0, true)
}

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
  readonly attributes: Values
  readonly events: readonly { readonly name: string; readonly attributes: Values }[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string; readonly type: unknown }[]
}

/** Of a body sent to /v1/traces. */
export function spansOf(body: Uint8Array): ReceivedSpan[] {
  return recordsOf(body).map(({ service, record: span }) => {
    const [status] = messagesOf(span, 15)
    return {
      service,
      name: textOf(span, 5),
      kind: countOf(span, 6),
      traceId: hexOf(span, 1),
      spanId: hexOf(span, 2),
      parentSpanId: hexOf(span, 4) || undefined,
      status: status ? countOf(status, 3) : 0,
      attributes: attributesOf(span, 9),
      events: messagesOf(span, 11).map((event) => ({ name: textOf(event, 2), attributes: attributesOf(event, 3) })),
      links: messagesOf(span, 13).map((link) => ({
        traceId: hexOf(link, 1),
        spanId: hexOf(link, 2),
        type: attributesOf(link, 4)['holdfast.link.type'],
      })),
    }
  })
}

export interface ReceivedPoint {
  readonly service: string
  readonly metric: string
  readonly unit: string
  readonly attributes: Values
  /** Of a histogram: how many were recorded. */
  readonly value: number
}

/** Of a body sent to /v1/metrics. */
export function pointsOf(body: Uint8Array): ReceivedPoint[] {
  return recordsOf(body).flatMap(({ service, record: metric }) => {
    const common = { service, metric: textOf(metric, 1), unit: textOf(metric, 3) }
    const numbers = [...messagesOf(metric, 5), ...messagesOf(metric, 7)].flatMap((kind) => messagesOf(kind, 1))
    const histograms = messagesOf(metric, 9).flatMap((kind) => messagesOf(kind, 1))
    return [
      ...numbers.map((point) => ({ ...common, attributes: attributesOf(point, 7), value: numberOf(point) })),
      ...histograms.map((point) => ({ ...common, attributes: attributesOf(point, 9), value: wholeOf(point, 4) })),
    ]
  })
}

function numberOf(point: Message): number {
  const double = bytesOf(point, 4)
  return double ? viewOf(double).getFloat64(0, true) : wholeOf(point, 6)
}

function wholeOf(point: Message, field: number): number {
  const bytes = bytesOf(point, field)
  return bytes ? Number(viewOf(bytes).getBigInt64(0, true)) : 0
}

/** The spans or metrics of an export, each with the service it is of. */
function recordsOf(body: Uint8Array): { readonly service: string; readonly record: Message }[] {
  return messagesOf(parse(body), 1).flatMap((resource) => {
    const service = String(messagesOf(resource, 1).map((each) => attributesOf(each, 1)['service.name'])[0])
    return messagesOf(resource, 2).flatMap((scope) => messagesOf(scope, 2).map((record) => ({ service, record })))
  })
}
