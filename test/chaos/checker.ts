import { rules, type Rule } from './rules.ts'
import type { Evidence } from './evidence.ts'
import type { Finding } from './finding.ts'
import { describeRun, indexEvidence, type Indexed } from './indexed.ts'

export interface Verdict {
  /** What broke how often. Each is 0 when every promise was kept. */
  readonly broken: Readonly<Record<Rule, number>>
  readonly finished: number
  readonly bodiesRepeated: number
  readonly refusedStale: number
  readonly memos: number
  readonly events: number
  /** The first of each thing that broke, with all that happened to its run, for a reader. */
  readonly counterExamples: readonly string[]
  readonly isGood: boolean
}

/** Judges what is left of a suite, offline. */
export function check(evidence: Evidence): Verdict {
  const indexed = indexEvidence(evidence)
  const found = Object.entries(rules).map(([rule, find]) => ({ rule, findings: [...find(indexed)] }))
  return {
    broken: Object.fromEntries(found.map(({ rule, findings }) => [rule, findings.length])) as Record<Rule, number>,
    finished: evidence.runs.filter(({ state }) => state === 'done').length,
    bodiesRepeated: countRepeated(indexed),
    refusedStale: countStale(indexed),
    memos: evidence.memos.length,
    events: evidence.events.length,
    counterExamples: found.flatMap(({ rule, findings }) => explain(indexed, rule, findings)),
    isGood: found.every(({ findings }) => findings.length === 0),
  }
}

function countRepeated({ bodiesOf }: Indexed): number {
  let repeated = 0
  for (const lines of bodiesOf.values()) {
    const begun = new Set<string>()
    for (const { did, key } of lines) {
      if (did !== 'begin') continue
      if (begun.has(key)) repeated += 1
      begun.add(key)
    }
  }
  return repeated
}

/** Writes of a claim that had been taken away. */
function countStale({ evidence, claimsOf }: Indexed): number {
  return evidence.bodies.filter(
    ({ did, run, token }) =>
      did === 'refused' && claimsOf.get(run)?.some((claim) => claim.token === token && claim.outcome === 'lease_lost'),
  ).length
}

function explain(indexed: Indexed, rule: string, findings: readonly Finding[]): string[] {
  const [first] = findings
  if (first === undefined) return []
  const { what, run } = first
  const head = `${rule}: ${what}${findings.length > 1 ? ` (the first of ${findings.length})` : ''}`
  return [run === undefined ? head : `${head}\n${describeRun(indexed, run)}`]
}
