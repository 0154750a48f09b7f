import type { FailPoint } from '../support/fail-points.ts'
import { planStarts, type StartGroup } from './starts.ts'
import { Random } from './random.ts'

export type StormFault =
  | { readonly kind: 'kills'; readonly at: number; readonly place: number; readonly point: FailPoint | undefined }
  | {
      readonly kind: 'stops'
      readonly at: number
      readonly place: number
      readonly point: FailPoint | undefined
      readonly ms: number
    }
  | { readonly kind: 'terms'; readonly at: number; readonly place: number }

export interface StormForm {
  readonly workers: number
  readonly runs: number
  readonly kills: number
  readonly stops: number
  readonly terms: number
  /** Over how long faults and starts are spread. */
  readonly stretchMs: number
  readonly longestBodyMs: number
}

export interface StormPlan {
  readonly faults: readonly StormFault[]
  readonly groups: readonly StartGroup[]
}

export const stormForms: Readonly<Record<'short' | 'full', StormForm>> = {
  short: { workers: 4, runs: 300, kills: 40, stops: 4, terms: 4, stretchMs: 42_000, longestBodyMs: 1_200 },
  full: { workers: 6, runs: 4_000, kills: 300, stops: 60, terms: 30, stretchMs: 400_000, longestBodyMs: 900 },
}

const killPoints = ['claim_runs', 'keep_steps', 'settle_runs', 'renew_leases'] as const
const stopPoints = ['keep_steps', 'settle_runs'] as const

/** The same for the same seed. */
export function planStorm(seed: number, form: StormForm): StormPlan {
  const random = new Random(seed)
  const { workers, kills, stops, terms, stretchMs } = form
  const kinds = [
    ...Array.from({ length: kills }, () => 'kills' as const),
    ...Array.from({ length: stops }, () => 'stops' as const),
    ...Array.from({ length: terms }, () => 'terms' as const),
  ]
  const faults = random.shuffle(kinds).map((kind, index): StormFault => {
    const at = ((index + random.next()) / kinds.length) * stretchMs
    const place = random.whole(workers)
    if (kind === 'terms') return { kind, at, place }
    // Half of them at a chosen point, the others wherever the process is just then.
    const isChosen = random.whole(2) === 0
    const when = random.pick(['before', 'after'] as const)
    if (kind === 'kills') {
      const fn = random.pick(killPoints)
      return { kind, at, place, point: isChosen ? { when, fn, how: 'kill' } : undefined }
    }
    // Before a write: when it wakes up, that write comes too late.
    const fn = random.pick(stopPoints)
    const ms = random.between(2_000, 4_000)
    return { kind, at, place, ms, point: isChosen ? { when: 'before', fn, how: 'freeze' } : undefined }
  })
  return { faults, groups: planStarts(random, { ...form }) }
}
