import type { BodyLine } from '../support/body-log.ts'
import type { HistoryEvent } from '../support/history.ts'
import { groupBy } from './group-by.ts'
import type { ClaimRecord, Effect, Evidence, FinalMemo, FinalRun } from './evidence.ts'

/** The evidence, by run. */
export interface Indexed {
  readonly evidence: Evidence
  readonly runs: ReadonlyMap<string, FinalRun>
  readonly eventsOf: ReadonlyMap<string, readonly HistoryEvent[]>
  readonly memosOf: ReadonlyMap<string, readonly FinalMemo[]>
  readonly claimsOf: ReadonlyMap<string, readonly ClaimRecord[]>
  readonly effectsOf: ReadonlyMap<string, readonly Effect[]>
  readonly bodiesOf: ReadonlyMap<string, readonly BodyLine[]>
}

export function indexEvidence(evidence: Evidence): Indexed {
  const { runs, events, memos, claims, effects, bodies } = evidence
  return {
    evidence,
    runs: new Map(runs.map((run) => [run.id, run])),
    eventsOf: groupBy(events, ({ run }) => run ?? ''),
    memosOf: groupBy(memos, ({ run }) => run),
    claimsOf: groupBy(claims, ({ run }) => run),
    effectsOf: groupBy(effects, ({ run }) => run),
    bodiesOf: groupBy(bodies, ({ run }) => run),
  }
}

/** All that is known of a run, a line each. */
export function describeRun({ runs, eventsOf, effectsOf, bodiesOf }: Indexed, id: string): string {
  const { state, attempt, output } = runs.get(id) ?? {}
  return [
    `run ${id}: ${state ?? 'not there'}, attempt ${attempt}, output ${output}`,
    ...(eventsOf.get(id) ?? []).flatMap((event) => describeEvent(event)),
    ...(effectsOf.get(id) ?? []).map(({ nonce }) => `  effect ${nonce}`),
    ...(bodiesOf.get(id) ?? []).map(({ did, key, token, value }) =>
      `  body ${did} ${key} ${token ?? ''} ${value === undefined ? '' : JSON.stringify(value)}`.trimEnd(),
    ),
  ].join('\n')
}

function describeEvent(event: HistoryEvent): string[] {
  const { subject, op, at, xid, oldState, state, oldToken, token, attempt, worker, key, value, runToken } = event
  const when = `  ${new Date(at).toISOString().slice(11, 23)} xid ${xid}`
  if (subject === 'step') return [`${when} memo ${key} ${op}: ${value} by token ${token}, the run's was ${runToken}`]
  if (subject === 'ticket') return [`${when} ticket ${key} ${op}: locked by ${oldState} -> ${state}`]
  // A renewal says nothing.
  if (op === 'update' && oldState === state && oldToken === token) return []
  return [
    `${when} ${oldState ?? ''}(${oldToken ?? ''}) -> ${state ?? ''}(${token ?? ''}), attempt ${attempt}, worker ${worker}`,
  ]
}
