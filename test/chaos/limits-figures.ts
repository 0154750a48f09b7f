import { asSeen, Census, isBegin, whatOf } from './census.ts'
import type { LimitsEvidence, Rate } from './limits-evidence.ts'

/** How well limits were used while more wanted in than they let. */

export interface Use {
  used: number
  allowed: number
}

/**
 * Slots used of those that limits allow, both times their time, while more of a line's runs wanted to run than its limit
 * lets. A killed worker's claims count as used until they are ended: they are live until then. A workflow with rates is
 * left out, since those may be what holds its runs back.
 */
export function slotUse({ moves, changes }: LimitsEvidence): Map<string, Use> {
  const uses = new Map<string, Use>()
  const seen = new Map<string, { census: Census; at: number }>()
  for (const happening of asSeen(moves, changes)) {
    const { workflow, committedAt } = whatOf(happening)
    const last = seen.get(workflow) ?? { census: new Census(), at: committedAt }
    seen.set(workflow, last)
    const ms = committedAt - last.at
    const use = uses.get(workflow) ?? { used: 0, allowed: 0 }
    uses.set(workflow, use)
    if (ms > 0) {
      for (const { live, limit } of saturated(last.census)) {
        use.used += ms * Math.min(live, limit)
        use.allowed += ms * limit
      }
    }
    last.at = committedAt
    if (happening.change) last.census.inForce = happening.change.inForce
    else last.census.move(happening.move)
  }
  return uses
}

function saturated(census: Census): { live: number; limit: number }[] {
  const { inForce, all, demand } = census
  if (inForce === null || inForce.isPaused || inForce.rate || inForce.groupRate) return []
  const { concurrency, groupConcurrency } = inForce
  if (concurrency !== null && demand > concurrency) return [{ live: all.live, limit: concurrency }]
  if (groupConcurrency === null) return []
  return [...census.groups]
    .filter(([group, { live, waiting }]) => live + waiting > census.capOf(group))
    .map(([, { live }]) => ({ live, limit: groupConcurrency }))
}

/**
 * Starts of those that rates allow, while runs waited that nothing but the rate held back: in whole stretches of `per` from
 * the first start of such a time on, in which there can be no more than allowed. Resumed claims count on neither side.
 */
export function rateUse({ moves, changes }: LimitsEvidence): Map<string, Use> {
  const uses = new Map<string, Use>()
  const seen = new Map<string, { census: Census; spells: Map<string, Spell> }>()
  let last = 0
  for (const happening of asSeen(moves, changes)) {
    const { workflow, committedAt } = whatOf(happening)
    const { census, spells } = seen.get(workflow) ?? { census: new Census(), spells: new Map<string, Spell>() }
    seen.set(workflow, { census, spells })
    const { move } = happening
    if (move && isBegin(move) && !move.isFree) {
      for (const scope of [wholeWorkflow, move.group]) spells.get(scope)?.starts.push(move.claimedAt ?? committedAt)
    }
    if (happening.change) census.inForce = happening.change.inForce
    else census.move(happening.move)
    const scopes = move ? [wholeWorkflow, move.group] : [wholeWorkflow, ...census.groups.keys()]
    for (const scope of scopes) {
      const rate = rateHolding(census, scope)
      const spell = spells.get(scope)
      if (spell && (rate?.limit !== spell.rate.limit || rate.perMs !== spell.rate.perMs)) {
        addSpell(uses, workflow, spell, committedAt)
        spells.delete(scope)
      }
      if (rate && !spells.has(scope)) spells.set(scope, { rate, starts: [] })
    }
    last = committedAt
  }
  for (const [workflow, { spells }] of seen) for (const spell of spells.values()) addSpell(uses, workflow, spell, last)
  return uses
}

/** No group has this name. */
const wholeWorkflow = ' '

/** A time in which runs waited for one rate. */
interface Spell {
  readonly rate: Rate
  readonly starts: number[]
}

function rateHolding({ inForce, all, groups }: Census, scope: string): Rate | undefined {
  if (inForce === null || inForce.isPaused || inForce.concurrency !== null || inForce.groupConcurrency !== null) return
  const { rate, groupRate } = inForce
  if (rate && groupRate) return
  if (scope === wholeWorkflow) return all.waiting > 0 ? (rate ?? undefined) : undefined
  return scope !== '' && (groups.get(scope)?.waiting ?? 0) > 0 ? (groupRate ?? undefined) : undefined
}

function addSpell(uses: Map<string, Use>, workflow: string, { rate, starts }: Spell, until: number): void {
  const from = starts[0]
  if (from === undefined) return
  const stretches = Math.floor((until - from) / rate.perMs)
  const use = uses.get(workflow) ?? { used: 0, allowed: 0 }
  use.used += starts.filter((at) => at < from + stretches * rate.perMs).length
  use.allowed += stretches * rate.limit
  uses.set(workflow, use)
}

/** Of all together, and of each workflow. */
export function shareOf(uses: ReadonlyMap<string, Use>): { all: number | null; each: Record<string, number | null> } {
  const sum = { used: 0, allowed: 0 }
  for (const { used, allowed } of uses.values()) {
    sum.used += used
    sum.allowed += allowed
  }
  return {
    all: share(sum),
    each: Object.fromEntries([...uses].map(([workflow, use]) => [workflow, share(use)])),
  }
}

function share({ used, allowed }: Use): number | null {
  return allowed === 0 ? null : Math.round((used / allowed) * 1_000) / 1_000
}
