import {
  context,
  isSpanContextValid,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api'
import { Directive } from '../model/directive.ts'
import { errorTypeOf, toException } from './exception.ts'
import type { StepSpans, Tracing, TrySpan } from './tracing.ts'

interface TracedStep {
  readonly workflow: string
  readonly run: string
  /** As its caller named it. */
  readonly name: string
  readonly key: string
}

/** A step whose body runs in this claim: a span a try, where its caller was. */
export class StepTrace implements StepSpans {
  readonly #tracing: Tracing
  readonly #step: TracedStep
  readonly #context: Context | undefined

  /** `claim`: the context that its spans are in where the caller has none. Undefined: nothing is traced. */
  constructor(tracing: Tracing, step: TracedStep, claim: Context | undefined) {
    this.#tracing = tracing
    this.#step = step
    this.#context = claim && tracing.guard.try(() => callerOr(claim), claim)
  }

  begin(tries: number): TrySpan {
    return new TryTrace(this.#tracing, this.#step, this.#spanOf(tries), this.#context)
  }

  #spanOf(tries: number): Span | undefined {
    const { guard, tracer } = this.#tracing
    const { workflow, run, name, key } = this.#step
    const parent = this.#context
    if (!parent) return undefined
    const attributes = {
      'holdfast.workflow.name': workflow,
      'holdfast.run.id': run,
      'holdfast.step.name': name,
      'holdfast.step.key': key,
      'holdfast.step.try': tries,
    }
    return guard.try(() => tracer.startSpan(`step ${name}`, { kind: SpanKind.INTERNAL, attributes }, parent), undefined)
  }
}

/** The context that is active here; the claim's own if nothing of a trace is in it. */
function callerOr(claim: Context): Context {
  const active = context.active()
  const span = trace.getSpanContext(active)
  return span && isSpanContextValid(span) ? active : claim
}

/** One try of a step. */
class TryTrace implements TrySpan {
  readonly #tracing: Tracing
  readonly #step: TracedStep
  readonly #span: Span | undefined
  readonly #context: Context | undefined

  constructor(tracing: Tracing, step: TracedStep, span: Span | undefined, parent: Context | undefined) {
    this.#tracing = tracing
    this.#step = step
    this.#span = span
    this.#context = span && parent && tracing.guard.try(() => trace.setSpan(parent, span), undefined)
  }

  within<T>(body: () => T): T {
    const active = this.#context
    if (!active) return body()
    return this.#tracing.guard.within((run) => context.with(active, run), body)
  }

  end(durationMs: number, failed?: { readonly thrown: unknown }): void {
    const { guard, meters } = this.#tracing
    const isError = failed !== undefined && Directive.steerOf(failed.thrown) === undefined
    const error: Attributes = isError ? { 'error.type': errorTypeOf(failed.thrown) } : {}
    meters.record('holdfast.step.duration', durationMs / 1000, {
      'holdfast.workflow.name': this.#step.workflow,
      'holdfast.step.name': this.#step.name,
      ...error,
    })
    const span = this.#span
    if (!span) return
    guard.try(() => {
      if (!isError) return
      span.setAttributes(error)
      span.recordException(toException(failed.thrown))
      span.setStatus({ code: SpanStatusCode.ERROR })
    }, undefined)
    guard.try(() => span.end(), undefined)
  }
}
