/** The worker's rhythm, in milliseconds. Tests make it faster; nothing else about a worker changes with it. */
export interface Timings {
  /** Between two sweeps. */
  readonly sweepMs: number
  /** How often the next due time is read again, in case a notification was lost. */
  readonly lookMs: number
  /** How often each session of the worker's own asks whether the server is there. */
  readonly pulseMs: number
  /** Share of a lease after which it is renewed. */
  readonly renewAfter: number
  /** Share of a lease after which a claim that could not renew it stops. */
  readonly giveUpAfter: number
}

/** How soon a renewal that failed is asked for again: so often that half of a lease may fail and cost nothing. */
export function renewalRetryMs(leaseMs: number): number {
  return Math.min(1_000, leaseMs / 30)
}

export const defaultTimings: Timings = {
  sweepMs: 1_000,
  lookMs: 1_000,
  pulseMs: 2_000,
  renewAfter: 0.5,
  giveUpAfter: 0.9,
}
