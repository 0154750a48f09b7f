import { createTraceState, isSpanContextValid, TraceFlags, type SpanContext } from '@opentelemetry/api'

/**
 * The W3C trace context as it is stored with a run: of our own making, so that it does not depend on which propagator
 * the process has. No baggage: it may hold what no table should.
 */

/** The columns of a run that hold it. */
export interface Carrier {
  readonly traceparent: string
  readonly tracestate?: string | undefined
}

/** Undefined: nothing was traced. */
export function carrierOf(context: SpanContext): Carrier | undefined {
  if (!isSpanContextValid(context)) return undefined
  return { traceparent: traceparentOf(context), tracestate: context.traceState?.serialize() || undefined }
}

export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
}

// Later versions may add to it: https://www.w3.org/TR/trace-context/#versioning-of-traceparent
const parts = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** Undefined for what is none, as W3C has it. */
export function contextOf({ traceparent, tracestate }: Carrier): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = parts.exec(traceparent) ?? []
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  }
  return isSpanContextValid(context) ? context : undefined
}
