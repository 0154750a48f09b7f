import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Link,
  type Span,
  type SpanContext,
} from '@opentelemetry/api'
import type { Claim } from '../model/claim.ts'
import { carrierOf, contextOf, traceparentOf, type Carrier } from './carrier.ts'
import { toException } from './exception.ts'
import { StepTrace } from './step-trace.ts'
import type { ClaimEnd, ClaimSpan, TraceIds, Tracing } from './tracing.ts'

/** The span of one claim, with the context in which its handler runs, and its metrics. */
export class ClaimTrace implements ClaimSpan {
  readonly ids: TraceIds | undefined
  readonly traceparent: string | undefined
  readonly #tracing: Tracing
  readonly #claim: Claim
  readonly #span: Span | undefined
  readonly #context: Context | undefined
  readonly #made: SpanContext | undefined
  /** Errors that the span of a step has already, this claim's or an earlier one's. */
  readonly #known = new WeakSet()

  constructor(tracing: Tracing, claim: Claim, workerId: string) {
    this.#tracing = tracing
    this.#claim = claim
    const { guard, meters } = tracing
    const workflow = { 'holdfast.workflow.name': claim.workflow }
    const { waitedMs, aside } = claim.past
    meters.record('holdfast.run.wait.duration', waitedMs / 1000, workflow)
    if (aside) {
      meters.record('holdfast.limit.wait.duration', aside.ms / 1000, { ...workflow, 'holdfast.limit.kind': aside.for })
    }
    const begun = guard.try(() => begin(tracing, claim, workerId), undefined)
    if (!begun) return
    const { made } = begun
    const { traceId, spanId, traceFlags } = made
    this.#span = begun.span
    this.#context = begun.context
    this.ids = { traceId, spanId }
    if (traceFlags & TraceFlags.SAMPLED) this.traceparent = traceparentOf(made)
    this.#made = made
  }

  within<T>(handle: () => T): T {
    const active = this.#context
    if (!active) return handle()
    return this.#tracing.guard.within((body) => context.with(active, body), handle)
  }

  step(name: string, key: string): StepTrace {
    return new StepTrace(
      this.#tracing,
      { workflow: this.#claim.workflow, run: this.#claim.id, name, key },
      this.#context,
    )
  }

  get carrier(): Carrier | undefined {
    const { guard, propagation } = this.#tracing
    const made = this.#made
    return made && propagation !== 'none' ? guard.try(() => carrierOf(made), undefined) : undefined
  }

  know(error: unknown): void {
    if (typeof error === 'object' && error !== null) this.#known.add(error)
  }

  threw(error: unknown): void {
    if (!this.#span || (typeof error === 'object' && error !== null && this.#known.has(error))) return
    const span = this.#span
    this.#tracing.guard.try(() => span.recordException(toException(error)), undefined)
  }

  end({ outcome, errorType, message, delayMs, recalled, durationMs }: ClaimEnd): void {
    const { guard, meters } = this.#tracing
    const { workflow, past } = this.#claim
    const labels: Attributes = { 'holdfast.workflow.name': workflow, 'holdfast.claim.outcome': outcome }
    if (errorType !== undefined) labels['error.type'] = errorType
    meters.record('holdfast.claim.duration', durationMs / 1000, labels)
    if (outcome === 'done' || outcome === 'failed') {
      const state = { 'holdfast.workflow.name': workflow, 'holdfast.run.state': outcome }
      meters.record('holdfast.run.duration', (past.ageMs + durationMs) / 1000, state)
    }
    if (outcome === 'lease_lost') {
      meters.add('holdfast.lease.lost', 1, { 'holdfast.workflow.name': workflow, 'holdfast.lease.reason': errorType })
    }
    const span = this.#span
    if (!span) return
    guard.try(() => {
      span.setAttribute('holdfast.claim.outcome', outcome)
      span.setAttribute('holdfast.steps.recalled', recalled)
      if (delayMs !== undefined) span.setAttribute('holdfast.retry.delay', delayMs / 1000)
      if (errorType === undefined) return
      span.setAttribute('error.type', errorType)
      span.setStatus({ code: SpanStatusCode.ERROR, ...(message ? { message } : {}) })
    }, undefined)
    guard.try(() => span.end(), undefined)
  }
}

interface Begun {
  readonly span: Span
  readonly made: SpanContext
  readonly context: Context
}

/** Undefined: no SDK is there. */
function begin(tracing: Tracing, claim: Claim, workerId: string): Begun | undefined {
  const { tracer, propagation } = tracing
  const { traceparent, tracestate, previous, isChild } = claim.past
  const starter =
    propagation === 'none' || traceparent === undefined ? undefined : contextOf({ traceparent, tracestate })
  const before = previous === undefined ? undefined : contextOf({ traceparent: previous })
  const links: Link[] = []
  if (starter && propagation === 'link') {
    links.push({ context: starter, attributes: { 'holdfast.link.type': isChild ? 'parent_run' : 'started_by' } })
  }
  if (before) links.push({ context: before, attributes: { 'holdfast.link.type': 'previous_claim' } })
  // Never the context in which the worker was made, whatever that was.
  const parent = starter && propagation === 'child' ? trace.setSpanContext(ROOT_CONTEXT, starter) : ROOT_CONTEXT
  const attributes = attributesOf(tracing, claim, workerId)
  const span = tracer.startSpan(`run ${claim.workflow}`, { kind: SpanKind.CONSUMER, attributes, links }, parent)
  const made = span.spanContext()
  if (!isSpanContextValid(made) || made.spanId === starter?.spanId) return undefined
  return { span, made, context: trace.setSpan(ROOT_CONTEXT, span) }
}

function attributesOf({ runKey, groupKey, schema }: Tracing, claim: Claim, workerId: string): Attributes {
  const { id, workflow, attempt, maxAttempts, token, key, group, past } = claim
  const { waitedMs, aside, root = id } = past
  const attributes: Attributes = {
    'messaging.system': 'holdfast',
    'messaging.operation.name': 'run',
    'messaging.operation.type': 'process',
    'messaging.destination.name': workflow,
    'messaging.message.id': id,
    'messaging.message.conversation_id': root,
    'holdfast.workflow.name': workflow,
    'holdfast.run.id': id,
    'holdfast.attempt.number': attempt,
    'holdfast.attempt.max': maxAttempts,
    'holdfast.claim.token': token,
    'holdfast.worker.id': workerId,
    'holdfast.queue.wait': Math.max(0, waitedMs - (aside?.ms ?? 0)) / 1000,
    'holdfast.replay.command': replayCommand(id, attempt, schema),
  }
  if (aside) attributes[aside.for === 'rate' ? 'holdfast.rate.wait' : 'holdfast.limit.wait'] = aside.ms / 1000
  if (runKey && key !== undefined) attributes['holdfast.run.key'] = key
  if (groupKey && group !== undefined) attributes['holdfast.group.key'] = group
  return attributes
}

/** What a person types to replay the run as it was in that attempt. */
function replayCommand(run: string, attempt: number, schema: string): string {
  const where =
    schema === 'holdfast' ? '' : ` --schema ${/^\w+$/.test(schema) ? schema : `'${schema.replaceAll("'", `'\\''`)}'`}`
  return `workflow replay ${run} --attempt ${attempt}${where}`
}
