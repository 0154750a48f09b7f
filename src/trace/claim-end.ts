import type { Claim } from '../model/claim.ts'
import type { LeaseLostReason } from '../model/errors.ts'
import type { Ending, Outcome } from '../model/outcome.ts'
import type { ClaimEnd } from './tracing.ts'

type How = Omit<ClaimEnd, 'recalled' | 'durationMs'>

/** How a claim ended: as its execution did, unless the database refused that since it was `lost`. */
export function claimEnd(
  claim: Claim,
  { outcome, recalled }: Ending,
  lost: LeaseLostReason | undefined,
  durationMs: number,
): ClaimEnd {
  const how = lost === undefined ? ends[outcome.kind](outcome as never, claim) : leaseLost(lost)
  return { ...how, recalled, durationMs }
}

const ends: {
  readonly [K in Outcome['kind']]: (outcome: Extract<Outcome, { kind: K }>, claim: Claim) => How
} = {
  done: () => ({ outcome: 'done' }),
  continued: () => ({ outcome: 'done' }),
  retry: ({ error, reason, ifLast, delayMs }, { attempt, maxAttempts }) =>
    attempt >= maxAttempts
      ? { outcome: 'failed', errorType: error?.name ?? ifLast, message: reason }
      : { outcome: 'retry', errorType: error?.name ?? 'retry', message: reason, delayMs },
  snooze: ({ delayMs }) => ({ outcome: 'snooze', delayMs }),
  failed: ({ error, failure, reason }) => ({ outcome: 'failed', errorType: error?.name ?? failure, message: reason }),
  suspended: ({ isParked }) => ({ outcome: isParked ? 'parked' : 'suspended' }),
  released: () => ({ outcome: 'released' }),
  lost: ({ reason }) => (reason === 'cancelled' ? { outcome: 'cancelled' } : leaseLost(reason)),
}

function leaseLost(reason: LeaseLostReason): How {
  return { outcome: 'lease_lost', errorType: reason }
}
