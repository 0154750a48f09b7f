import { moves, isFinal, type State } from '../../src/model/state.ts'
import { lateReason } from '../../src/worker/claim-runner.ts'
import type { ClaimRecord } from './evidence.ts'
import type { Finding } from './finding.ts'
import { groupBy } from './group-by.ts'
import type { Indexed } from './indexed.ts'
import { keptTwice, staleMemos } from './memo-rules.ts'
import { turnReason } from './workflows.ts'
import { wrongOutput } from './wrong-output.ts'

/** Each finds what must never be. */
export const rules = {
  lost,
  stuck,
  kept_twice: keptTwice,
  stale_memos: staleMemos,
  bad_moves: badMoves,
  two_claims: twoClaims,
  stale_settles: staleSettles,
  false_conflicts: falseConflicts,
  retries_unasked: retriesUnasked,
  attempts_counted_for_living: countedForLiving,
  exits: ({ evidence }) => evidence.exits.map((what) => ({ what })),
  faults: missingFaults,
} satisfies Record<string, (indexed: Indexed) => Iterable<Finding>>

export type Rule = keyof typeof rules

/** Share of the planned faults that must have happened, of each kind. */
const enough = 0.9

/** A start that was acknowledged and is not there, or has come to something else than it should. */
function* lost(indexed: Indexed): Generator<Finding> {
  const { evidence, runs } = indexed
  for (const { id, index } of evidence.starts) {
    const run = runs.get(id)
    if (run === undefined) yield { what: `The run of start ${index} is not there.`, run: id }
    else if (isFinal(run.state as State)) {
      const problem = wrongOutput(indexed, run, index)
      if (problem) yield { what: `Start ${index}: ${problem}`, run: id }
    }
  }
}

function* stuck({ evidence }: Indexed): Generator<Finding> {
  for (const { id, state } of evidence.runs) {
    if (!isFinal(state as State)) yield { what: `A run is still ${state}.`, run: id }
  }
}

function* badMoves({ eventsOf }: Indexed): Generator<Finding> {
  for (const [run, events] of eventsOf) {
    for (const { subject, op, oldState, state, oldToken, token } of events) {
      if (subject !== 'run') continue
      const move = `${oldState}(${oldToken}) -> ${state}(${token})`
      if (op === 'insert' ? state !== 'waiting' && state !== 'scheduled' : op === 'delete') {
        yield { what: `A run was ${op}ed: ${move}.`, run }
      } else if (op === 'update' && oldState !== state && !moves[oldState as State].includes(state as State)) {
        yield { what: `The state table has no move ${move}.`, run }
      } else if (op === 'update' && token !== oldToken && token !== (oldToken ?? 0) + 1) {
        yield { what: `The token jumped: ${move}.`, run }
      }
    }
  }
}

/** Two claims of a run that lived at once, or one that was ended while it was leased and its worker not found dead. */
function* twoClaims({ evidence, claimsOf, eventsOf }: Indexed): Generator<Finding> {
  const found = evidence.events.filter(({ subject, state }) => subject === 'worker' && state === 'dead')
  const deathsOf = groupBy(found, ({ worker }) => worker ?? '')
  for (const [run, claims] of claimsOf) {
    for (const [index, claim] of claims.entries()) {
      const { token, worker, beganAt, endedAt, outcome } = claim
      const next = claims[index + 1]
      if (next && (endedAt === null || next.beganAt < endedAt)) {
        yield { what: `Claim ${next.token} began before claim ${token} had ended.`, run }
      }
      if (outcome !== 'lease_lost') continue
      const end = eventsOf
        .get(run)
        ?.find((event) => event.subject === 'run' && event.oldToken === token && event.token === token + 1)
      const isDead = deathsOf.get(worker ?? '')?.some(({ n, at }) => at >= beganAt && n < (end?.n ?? 0))
      if (end && !isDead && (end.oldLeaseUntil ?? 0) > end.at) {
        yield {
          what: `Claim ${token} was ended ${Math.round((end.oldLeaseUntil ?? 0) - end.at)} ms before its lease.`,
          run,
        }
      }
    }
  }
}

/** A settle that was accepted, of a claim that had ended otherwise. */
function* staleSettles({ evidence, claimsOf }: Indexed): Generator<Finding> {
  for (const { did, run, token, outcome } of evidence.bodies) {
    if (did !== 'settled') continue
    const claim = claimsOf.get(run)?.find((each) => each.token === token)
    if (claim?.outcome === outcome || claim?.outcome === 'failed') continue
    yield { what: `Claim ${token} was settled as ${outcome}; it had ended as ${claim?.outcome}.`, run }
  }
}

/** A write of a claim that nobody had ended, refused as lost; or a start told of a conflict with itself. */
function* falseConflicts({ evidence, claimsOf }: Indexed): Generator<Finding> {
  for (const what of evidence.falseConflicts) yield { what }
  for (const { did, run, key, token, value, at, outcome: asked } of evidence.bodies) {
    if (did !== 'refused') continue
    const claim = claimsOf.get(run)?.find((each) => each.token === token)
    const { outcome, endedAt } = claim ?? {}
    // Its own worker may let go of a claim at any time; its steps come too late then, and a release comes too late itself.
    const isEnded =
      outcome === 'lease_lost' ||
      outcome === 'cancelled' ||
      (claim && isLate(claim)) ||
      (key === 'keep_steps' && outcome === 'released') ||
      (asked === 'released' && outcome !== undefined)
    if (isEnded && endedAt != null && endedAt <= at) continue
    yield {
      what: `${key} ${asked ?? ''} of claim ${token} was refused (${String(value)}); that claim ended as ${outcome}.`,
      run,
    }
  }
}

/** Too few faults prove nothing. */
function* missingFaults({ evidence }: Indexed): Generator<Finding> {
  for (const [kind, { planned, done }] of Object.entries(evidence.faults)) {
    if (done < planned * enough) yield { what: `Of ${planned} planned ${kind}, ${done} happened.` }
  }
}

/** An attempt that failed by something else than its handler's own doing, or a lease that was not renewed in time. */
function* retriesUnasked({ evidence }: Indexed): Generator<Finding> {
  for (const claim of evidence.claims) {
    const { run, token, outcome, reason, error } = claim
    if (outcome !== 'retry' || isTurn(claim) || isLate(claim)) continue
    yield { what: `Claim ${token} failed by ${error ?? reason}.`, run }
  }
}

function isTurn({ outcome, reason, error }: ClaimRecord): boolean {
  return outcome === 'retry' && `${reason} ${error}`.includes(turnReason)
}

/** Given back by its own worker, which had been frozen for longer than its lease. */
function isLate({ outcome, reason }: ClaimRecord): boolean {
  return outcome === 'retry' && reason === lateReason
}

/** An attempt beyond the first that no handler asked for, of a run whose process lived. */
function* countedForLiving({ evidence: { relieved }, runs, claimsOf }: Indexed): Generator<Finding> {
  if (relieved === undefined) return
  for (const { id, attempt } of runs.values()) {
    const isAsked = (claim: ClaimRecord): boolean =>
      isTurn(claim) || (claim.outcome === 'lease_lost' && relieved.includes(claim.worker ?? ''))
    const asked = (claimsOf.get(id) ?? []).filter(isAsked).length
    if (attempt > 1 + asked) yield { what: `It counts ${attempt} attempts; ${1 + asked} would be right.`, run: id }
  }
}
