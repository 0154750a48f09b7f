import { context, SpanKind, SpanStatusCode, trace, type Attributes, type Context, type Span } from '@opentelemetry/api'
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
    const tracing = this.#tracing
    const parent = this.#context
    const begun = parent && tracing.guard.try(() => this.#begin(parent, tries), undefined)
    return new TryTrace(tracing, this.#step, begun)
  }

  #begin(parent: Context, tries: number): Begun {
    const { workflow, run, name, key } = this.#step
    const attributes = {
      'holdfast.workflow.name': workflow,
      'holdfast.run.id': run,
      'holdfast.step.name': name,
      'holdfast.step.key': key,
      'holdfast.step.try': tries,
    }
    const span = this.#tracing.tracer.startSpan(`step ${name}`, { kind: SpanKind.INTERNAL, attributes }, parent)
    return { span, context: trace.setSpan(parent, span) }
  }
}

interface Begun {
  readonly span: Span
  readonly context: Context
}

/** The context that is active here; the claim's own if nothing of a trace is in it. */
function callerOr(claim: Context): Context {
  const active = context.active()
  return trace.getSpan(active) ? active : claim
}

/** One try of a step. */
class TryTrace implements TrySpan {
  readonly #tracing: Tracing
  readonly #step: TracedStep
  readonly #begun: Begun | undefined

  constructor(tracing: Tracing, step: TracedStep, begun: Begun | undefined) {
    this.#tracing = tracing
    this.#step = step
    this.#begun = begun
  }

  within<T>(body: () => T): T {
    const begun = this.#begun
    if (!begun) return body()
    return this.#tracing.guard.within((run) => context.with(begun.context, run), body)
  }

  end(durationMs: number, failed?: { readonly thrown: unknown }): void {
    const { guard, meters } = this.#tracing
    const labels: Attributes = {
      'holdfast.workflow.name': this.#step.workflow,
      'holdfast.step.name': this.#step.name,
    }
    const span = this.#begun?.span
    if (failed && Directive.steerOf(failed.thrown) === undefined) {
      const errorType = errorTypeOf(failed.thrown)
      labels['error.type'] = errorType
      guard.try(() => {
        span?.setAttribute('error.type', errorType)
        span?.recordException(toException(failed.thrown))
        span?.setStatus({ code: SpanStatusCode.ERROR })
      }, undefined)
    }
    meters.record('holdfast.step.duration', durationMs / 1000, labels)
    guard.try(() => span?.end(), undefined)
  }
}
