import type { ClaimSpan, ClientTelemetry, StepSpans, TrySpan, WorkerTelemetry } from './tracing.ts'

/** Tells nobody anything: for claims that are played, and to measure what telling costs. */

const nothing = (): void => undefined
const within = <T>(work: () => T): T => work()
const untracedTry: TrySpan = { within, end: nothing }

/** What is no step of the user's has it. */
export const untracedStep: StepSpans = { begin: () => untracedTry }

export const untracedClaim: ClaimSpan = {
  ids: undefined,
  traceparent: undefined,
  carrier: undefined,
  within,
  step: () => untracedStep,
  know: nothing,
  threw: nothing,
  end: nothing,
}

export const untraced: ClientTelemetry & WorkerTelemetry = {
  meters: { add: nothing, record: nothing, observe: () => nothing },
  claim: () => untracedClaim,
  starting: (starts, send) => send(starts),
}
