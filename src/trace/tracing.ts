import type { Attributes, MeterProvider, Tracer, TracerProvider } from '@opentelemetry/api'
import type { Claim } from '../model/claim.ts'
import type { Logger } from '../model/logger.ts'
import type { Propagation } from '../model/propagation.ts'
import type { StartItem } from '../model/start-item.ts'
import type { Carrier } from './carrier.ts'
import type { Guard } from './guard.ts'
import type { NameOf } from './instruments.ts'
import type { Observer } from './meters.ts'

/** What telemetry is made with, and what others see of it. */

export interface TelemetryOptions {
  /** Default: the process's own, whenever there is one. */
  readonly tracerProvider?: TracerProvider | undefined
  readonly meterProvider?: MeterProvider | undefined
  /** Default: link. */
  readonly propagation?: Propagation
  /** Whether spans bear the keys and groups of runs, which may say who somebody is. Default: false. */
  readonly runKey?: boolean
  readonly groupKey?: boolean
  /** Of the database, for the commands that spans name. */
  readonly schema: string
  readonly log: Logger
}

/** What spans are made with. */
export interface Tracing {
  readonly propagation: Propagation
  readonly runKey: boolean
  readonly groupKey: boolean
  readonly schema: string
  readonly tracer: Pick<Tracer, 'startSpan'>
  readonly guard: Guard
  readonly meters: Meter
}

export interface Meter {
  add(name: NameOf<'counter'>, value: number, attributes: Attributes): void
  record(name: NameOf<'histogram'>, value: number, attributes: Attributes): void
  /** Has `observer` asked for gauges. Answers how to end that. */
  observe(observer: Observer): () => void
}

/** What a worker tells. */
export interface WorkerTelemetry {
  readonly meters: Meter
  /** A claim that begins. */
  claim(claim: Claim, workerId: string): ClaimSpan
}

/** A run that was asked for, as the database answered. */
export interface AskedFor {
  readonly id: string
  readonly created: boolean
}

/** What a client tells. */
export interface ClientTelemetry {
  readonly meters: Meter
  /**
   * One span for the call that starts all of these, whose context each of them keeps. `startedOf`: the runs that the
   * answer says there are.
   */
  starting<S extends { readonly item: StartItem }, T>(
    starts: readonly S[],
    send: (starts: readonly S[]) => Promise<T>,
    startedOf: (answer: T) => readonly AskedFor[],
  ): Promise<T>
}

/** The ids by which a log line is found beside its span. */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** The span of one claim, and its metrics. */
export interface ClaimSpan extends HandlerSpan {
  /** Undefined: nothing is traced. */
  readonly ids: TraceIds | undefined
  /** To be kept with the claim; undefined: nobody will find this span. */
  readonly traceparent: string | undefined
  end(how: ClaimEnd): void
}

/** The same as the claim's execution sees it. */
export interface HandlerSpan {
  /** Runs the handler where its own spans are this one's. */
  within<T>(handle: () => T): T
  /** A step whose body is to run, called where the context is its caller's. */
  step(name: string, key: string): StepSpans
  /** Says that the span of a step has this error already. */
  know(error: unknown): void
  /** The handler threw it. */
  threw(error: unknown): void
  /**
   * The claim's own, for a run that it starts: a span of the user's around such a call does not end where the claim is
   * suspended.
   */
  readonly carrier: Carrier | undefined
}

/** The spans of a step: one a try. */
export interface StepSpans {
  /** The n-th try of the run; 1 is the first. */
  begin(tries: number): TrySpan
}

export interface TrySpan {
  /** Runs the body where its own spans are this one's. */
  within<T>(body: () => T): T
  /** `failed`: what was thrown instead of an answer. */
  end(durationMs: number, failed?: { readonly thrown: unknown }): void
}

/** How a claim ended, as its span and metrics have it. */
export interface ClaimEnd {
  readonly outcome:
    'done' | 'retry' | 'snooze' | 'failed' | 'cancelled' | 'suspended' | 'parked' | 'released' | 'lease_lost'
  /** Of the outcomes that are errors: retry, failed and lease_lost. */
  readonly errorType?: string | undefined
  readonly message?: string | undefined
  readonly delayMs?: number | undefined
  readonly recalled: number
  /** From the claim to its end. */
  readonly durationMs: number
}
