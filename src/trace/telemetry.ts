import { INVALID_SPAN_CONTEXT, trace, type Tracer, type TracerProvider } from '@opentelemetry/api'
import type { Claim } from '../model/claim.ts'
import { release } from '../model/release.ts'
import type { StartItem } from '../model/start-item.ts'
import { ClaimTrace } from './claim-trace.ts'
import { Guard } from './guard.ts'
import { Meters } from './meters.ts'
import { StartTrace } from './start-trace.ts'
import type { AskedFor, ClaimSpan, ClientTelemetry, TelemetryOptions, Tracing, WorkerTelemetry } from './tracing.ts'
import { untracedClaim } from './untraced.ts'

/** Stands for one that a provider did not give. */
const silent: Pick<Tracer, 'startSpan'> = { startSpan: () => trace.wrapSpanContext(INVALID_SPAN_CONTEXT) }

/** Spans and metrics of one client or worker. It registers nothing: without an SDK in the process it does nothing. */
export class Telemetry implements ClientTelemetry, WorkerTelemetry {
  readonly meters: Meters
  readonly #tracing: Tracing
  /** Spans go to a provider that was given. */
  readonly #hasOwn: boolean

  constructor({ tracerProvider, meterProvider, schema, log, ...how }: TelemetryOptions) {
    const guard = new Guard(log)
    const { propagation = 'link', runKey = false, groupKey = false } = how
    this.meters = new Meters(meterProvider, guard)
    this.#hasOwn = tracerProvider !== undefined
    const given = (): Pick<Tracer, 'startSpan'> => (tracerProvider ?? trace).getTracer('holdfast', release)
    const tracer = guard.try(given, silent)
    this.#tracing = { propagation, runKey, groupKey, schema, tracer, guard, meters: this.meters }
  }

  claim(claim: Claim, workerId: string): ClaimSpan {
    return this.#isSilent ? untracedClaim : new ClaimTrace(this.#tracing, claim, workerId)
  }

  async starting<S extends { readonly item: StartItem }, T>(
    starts: readonly S[],
    send: (starts: readonly S[]) => Promise<T>,
    startedOf: (answer: T) => readonly AskedFor[],
  ): Promise<T> {
    if (this.#isSilent) return await send(starts)
    const span = new StartTrace(
      this.#tracing,
      starts.map(({ item }) => item),
    )
    const { carrier } = span
    const carried = carrier ? starts.map((start) => ({ ...start, item: { ...start.item, ...carrier } })) : starts
    try {
      const answer = await send(carried)
      span.started(startedOf(answer))
      return answer
    } catch (error) {
      span.failed(error)
      throw error
    }
  }

  /** No SDK is there. What would be told then costs nothing: not even its attributes are made. */
  get #isSilent(): boolean {
    return !this.#hasOwn && this.meters.isSilent && !this.#tracing.guard.try(hasTracer, true)
  }
}

/** The API's own provider has a tracer of an SDK once there is one. */
function hasTracer(): boolean {
  const provider: TracerProvider & { getDelegateTracer?: (name: string) => Tracer | undefined } =
    trace.getTracerProvider()
  return provider.getDelegateTracer === undefined || provider.getDelegateTracer('holdfast') !== undefined
}
