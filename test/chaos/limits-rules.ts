import { isFinal, type State } from '../../src/model/state.ts'
import { Census, inOrder, isBegin, isEnd } from './census.ts'
import type { Finding } from './finding.ts'
import { noCaps, type Caps, type InForce, type LimitsEvidence, type Move, type Rate } from './limits-evidence.ts'
import { stalls } from './stalls.ts'

/** Each finds what must never be of limits. */
export const limitsRules = {
  concurrency_violations: overConcurrency,
  rate_violations: overRate,
  early_instants: earlyInstants,
  stalled,
  lost,
  stuck,
  flapped,
  broken_invariants: ({ brokenInvariants }) =>
    brokenInvariants.map(({ name, after, rows }) => ({ what: `After ${after}, ${name}: ${JSON.stringify(rows)}` })),
  deadlocks: ({ deadlocks }) =>
    deadlocks > 0
      ? [{ what: `Sessions waited for each other ${deadlocks} times: locks were not taken in one order.` }]
      : [],
  exits: ({ exits }) => exits.map((what) => ({ what })),
  faults: missingFaults,
} satisfies Record<string, (evidence: LimitsEvidence) => Iterable<Finding>>

export type LimitsRule = keyof typeof limitsRules

/** Share of the planned faults that must have happened, of each kind. */
const enough = 0.9
/**
 * A line may have runs, room and a slot for so long and begin none. Whoever had its ticket may have been killed, which is
 * found out within two seconds, but in 5 s more where the sweepers themselves were late. Lost tickets come after 10 s.
 */
const longestStallMs = 8_000

/** A claim that began when as many were live as may be. A lowered limit ends none, so each is judged as it begins. */
function* overConcurrency({ moves, changes }: LimitsEvidence): Generator<Finding> {
  const censuses = new Map<string, Census>()
  for (const { move, change } of inOrder(moves, changes)) {
    const { workflow } = move ?? change
    const census = censuses.get(workflow) ?? new Census()
    censuses.set(workflow, census)
    if (change) {
      census.inForce = change.inForce
      continue
    }
    census.move(move)
    if (!isBegin(move)) continue
    const { run, group } = move
    const { all, inForce } = census
    const { live } = census.group(group)
    const say = (what: string): Finding => ({ what: `${describe(move)} began ${what}.`, run })
    if (inForce?.isPaused) yield say('while the workflow was paused')
    if (all.live > (inForce?.concurrency ?? Infinity)) {
      yield say(`as number ${all.live} of the ${inForce?.concurrency} that the workflow may run`)
    }
    if (live > census.capOf(group)) yield say(`as number ${live} of the ${census.capOf(group)} that its group may run`)
  }
}

/** Starts that a rate counts, since it came into force. */
interface Series {
  rate: Rate | null
  starts: number[]
}

/** Less than half of the clock's unit, a microsecond: what reckoning in floating milliseconds may be off. */
const slack = 0.0004

/** A claim that began less than `per` after the one that came `limit` before it. */
function* overRate({ moves, changes }: LimitsEvidence): Generator<Finding> {
  const inForce = new Map<string, InForce | null>()
  const series = new Map<string, Series>()
  const startsUnder = (scope: string, rate: Rate | null): number[] => {
    let known = series.get(scope)
    if (known?.rate?.limit !== rate?.limit || known?.rate?.perMs !== rate?.perMs) known = undefined
    if (known === undefined) series.set(scope, (known = { rate, starts: [] }))
    return known.starts
  }
  for (const { move, change } of inOrder(moves, changes)) {
    if (change) {
      inForce.set(change.workflow, change.inForce)
      // Those of groups are looked at when one begins there; a rate that was taken away meanwhile forgets all the same.
      const groupRate = change.inForce?.groupRate ?? null
      startsUnder(change.workflow, change.inForce?.rate ?? null)
      for (const scope of series.keys()) if (scope.startsWith(`${change.workflow} `)) startsUnder(scope, groupRate)
      continue
    }
    if (!isBegin(move) || move.isFree || move.claimedAt === null) continue
    const { workflow, group, run, claimedAt } = move
    const { rate = null, groupRate = null } = inForce.get(workflow) ?? {}
    const scopes = [
      { scope: workflow, rate },
      { scope: `${workflow} ${group}`, rate: group === '' ? null : groupRate },
    ]
    for (const { scope, rate: cap } of scopes) {
      const starts = startsUnder(scope, cap)
      starts.push(claimedAt)
      if (cap === null) continue
      const gap = claimedAt - (starts[starts.length - 1 - cap.limit] ?? -Infinity)
      if (gap < cap.perMs - slack) {
        const what = `${describe(move)} began ${gap.toFixed(3)} ms after the start ${cap.limit} before it, of ${scope}`
        yield { what: `${what}; a stretch is ${cap.perMs} ms.`, run }
      }
    }
  }
}

/**
 * The instant that a claim gives for its beginning lies between what its line had seen before and the writing of it: else
 * what a rate allows could be had by stating another.
 */
function* earlyInstants({ moves, changes }: LimitsEvidence): Generator<Finding> {
  const isWide = new Map<string, boolean>()
  const seen = new Map<string, { xid: number; at: number; before: number }>()
  for (const { move, change } of inOrder(moves, changes)) {
    if (change) {
      // Without a limit there is no line.
      if (change.inForce) isWide.set(change.workflow, change.inForce.isWide)
      else isWide.delete(change.workflow)
      continue
    }
    if (!isBegin(move) && !isEnd(move)) continue
    const { workflow, group, xid, at, claimedAt, run } = move
    if (!isWide.has(workflow)) continue
    const line = isWide.get(workflow) ? workflow : `${workflow} ${group}`
    const last = seen.get(line) ?? { xid, at: -Infinity, before: -Infinity }
    const before = last.xid === xid ? last.before : last.at
    seen.set(line, { xid, at, before })
    if (!isBegin(move) || claimedAt === null) continue
    if (claimedAt < before - slack || claimedAt > at + slack) {
      const what = `${describe(move)} says it began at ${instant(claimedAt)}, was written at ${instant(at)}`
      yield { what: `${what}, and its line had seen ${instant(before)}.`, run }
    }
  }
}

function* stalled(evidence: LimitsEvidence): Generator<Finding> {
  for (const { line, from, ms } of stalls(evidence)) {
    if (ms > longestStallMs)
      yield { what: `From ${instant(from)} on ${line} had runs, room and slots for ${Math.round(ms)} ms.` }
  }
}

function* lost({ acknowledged, runs }: LimitsEvidence): Generator<Finding> {
  const known = new Set(runs.map(({ id }) => id))
  for (const id of acknowledged)
    if (!known.has(id)) yield { what: 'A run whose start was committed is not there.', run: id }
}

function* stuck({ runs }: LimitsEvidence): Generator<Finding> {
  for (const { id, state } of runs) if (!isFinal(state as State)) yield { what: `A run is still ${state}.`, run: id }
}

/** Other limits are in force than those said last, or an older release brought its own back. */
function* flapped({ changes, said }: LimitsEvidence): Generator<Finding> {
  for (const [workflow, turns] of Object.entries(said)) {
    const forced = changes.filter((change) => change.workflow === workflow).map(({ inForce }) => capsOf(inForce))
    const inTurn = forced.filter((caps, index) => caps !== forced[index - 1])
    const asSaid = turns.map((caps) => capsOf(caps))
    const isSame = asSaid.length === 1 ? inTurn.at(-1) === asSaid[0] : inTurn.join(' ') === asSaid.join(' ')
    if (!isSame) yield { what: `Of ${workflow} came into force ${inTurn.join(', ')}; said was ${asSaid.join(', ')}.` }
  }
}

function capsOf(caps: Caps | null): string {
  const { concurrency, groupConcurrency, rate, groupRate, isFair } = caps ?? noCaps
  return JSON.stringify([concurrency, groupConcurrency, rate, groupRate, isFair])
}

function missingFaults({ faults }: LimitsEvidence): Finding[] {
  return Object.entries(faults)
    .filter(([, { planned, done }]) => done < planned * enough)
    .map(([kind, { planned, done }]) => ({ what: `Only ${done} of ${planned} ${kind} happened.` }))
}

function describe({ workflow, group, run }: Move): string {
  return `A run of ${workflow}${group === '' ? '' : ` in ${group}`}, ${run},`
}

function instant(at: number): string {
  return Number.isFinite(at) ? new Date(at).toISOString().slice(11, 23) : 'nothing'
}
