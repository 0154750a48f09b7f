import { isFinal, type State } from '../../src/model/state.ts'
import type { Finding } from './finding.ts'
import type { LimitsEvidence, Move } from './limits-evidence.ts'
import { rateUse, shareOf, slotUse } from './limits-figures.ts'
import { limitsRules, type LimitsRule } from './limits-rules.ts'
import { stalls } from './stalls.ts'

export interface LimitsVerdict {
  /** What broke how often. Each is 0 when every promise was kept. */
  readonly broken: Readonly<Record<LimitsRule, number>>
  readonly finished: number
  readonly slots: ReturnType<typeof shareOf>
  readonly rates: ReturnType<typeof shareOf>
  readonly longestStallMs: number
  /** The first of each thing that broke, with all that happened to its run, for a reader. */
  readonly counterExamples: readonly string[]
  readonly isGood: boolean
}

/** Judges what is left of the limits suite, offline. */
export function checkLimits(evidence: LimitsEvidence): LimitsVerdict {
  const found = Object.entries(limitsRules).map(([rule, find]) => ({ rule, findings: [...find(evidence)] }))
  return {
    broken: Object.fromEntries(found.map(({ rule, findings }) => [rule, findings.length])) as Record<
      LimitsRule,
      number
    >,
    finished: evidence.runs.filter(({ state }) => isFinal(state as State)).length,
    slots: shareOf(slotUse(evidence)),
    rates: shareOf(rateUse(evidence)),
    longestStallMs: Math.round(Math.max(0, ...stalls(evidence).map(({ ms }) => ms))),
    counterExamples: found.flatMap(({ rule, findings }) => explain(evidence, rule, findings)),
    isGood: found.every(({ findings }) => findings.length === 0),
  }
}

function explain({ moves }: LimitsEvidence, rule: string, findings: readonly Finding[]): string[] {
  const [first] = findings
  if (first === undefined) return []
  const { what, run } = first
  const head = `${rule}: ${what}${findings.length > 1 ? ` (the first of ${findings.length})` : ''}`
  return [[head, ...moves.filter((move) => move.run === run).map((move) => describe(move))].join('\n')]
}

function describe({ n, xid, at, workflow, group, oldState, state, isFree }: Move): string {
  const when = new Date(at).toISOString().slice(11, 23)
  return `  ${when} ${n} xid ${xid} ${workflow} ${group}: ${oldState} -> ${state}${isFree ? ', uncounted' : ''}`
}
