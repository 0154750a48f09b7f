import type { FailPoint } from '../support/fail-points.ts'
import type { GivenLimits } from '../support/limits.ts'
import { type Burst, planBursts } from './limits-bursts.ts'
import type { WorkflowName } from './limits-workflows.ts'
import { Random } from './random.ts'

export type LimitsFault = { readonly at: number } & (
  | { readonly kind: 'kills'; readonly place: number; readonly point: FailPoint | undefined }
  | { readonly kind: 'terms'; readonly place: number }
  | { readonly kind: 'cancels'; readonly workflow: WorkflowName; readonly count: number; readonly heldMs: number }
  | { readonly kind: 'changes'; readonly workflow: WorkflowName; readonly limits: SetLimits }
  | { readonly kind: 'pauses'; readonly workflow: WorkflowName; readonly ms: number }
)

/** As set_limits takes them; null: no cap. */
export type SetLimits = { readonly [Name in keyof GivenLimits]: GivenLimits[Name] | null | undefined }

export interface LimitsForm {
  readonly workers: number
  readonly runs: number
  readonly kills: number
  readonly terms: number
  readonly cancels: number
  readonly changes: number
  readonly pauses: number
  /** Over how long faults and starts are spread. */
  readonly stretchMs: number
}

export interface LimitsPlan {
  readonly faults: readonly LimitsFault[]
  readonly bursts: readonly Burst[]
  /** When the newer release comes; the older stays beside it. */
  readonly deployAt: number
}

export const limitsForms: Readonly<Record<'short' | 'full', LimitsForm>> = {
  short: { workers: 4, runs: 800, kills: 6, terms: 1, cancels: 8, changes: 10, pauses: 3, stretchMs: 10_000 },
  full: { workers: 6, runs: 20_000, kills: 100, terms: 12, cancels: 120, changes: 90, pauses: 20, stretchMs: 300_000 },
}

const killPoints = ['claim_lines', 'settle_runs', 'renew_leases', 'promote_due', 'mend_lines', 'end_leases'] as const

/** The same for the same seed. */
export function planLimits(seed: number, form: LimitsForm): LimitsPlan {
  const random = new Random(seed)
  const { stretchMs } = form
  const kinds = (['kills', 'terms', 'cancels', 'changes', 'pauses'] as const).flatMap((kind) =>
    Array.from({ length: form[kind] }, () => kind),
  )
  const faults = random.shuffle(kinds).map((kind, index): LimitsFault => {
    const at = ((index + random.next()) / kinds.length) * stretchMs
    return { at, ...planFault(random, kind, form.workers) }
  })
  return { faults, bursts: planBursts(random, form), deployAt: stretchMs * random.between(0.3, 0.5) }
}

type Planned<Fault> = Fault extends unknown ? Omit<Fault, 'at'> : never

function planFault(random: Random, kind: LimitsFault['kind'], workers: number): Planned<LimitsFault> {
  switch (kind) {
    case 'kills':
      // Half of them at a chosen point, the others wherever the process is just then.
      return { kind, place: random.whole(workers), point: random.whole(2) === 0 ? planPoint(random) : undefined }
    case 'terms':
      return { kind, place: random.whole(workers) }
    case 'cancels':
      return {
        kind,
        workflow: random.pick(changeable),
        count: 1 + random.whole(6),
        // A third of them in a transaction that stays open.
        heldMs: random.whole(3) === 0 ? random.between(50, 500) : 0,
      }
    case 'changes': {
      const workflow = random.pick(changeable)
      return { kind, workflow, limits: random.pick(changes[workflow])(random) }
    }
    case 'pauses':
      return { kind, workflow: random.pick(changeable), ms: random.between(200, 1_200) }
  }
}

function planPoint(random: Random): FailPoint {
  return { when: random.pick(['before', 'after'] as const), fn: random.pick(killPoints), how: 'kill' }
}

type Change = (random: Random) => SetLimits

const perGroup: Change = (random) => ({ concurrencyPerGroup: random.pick([1, 2, 3, 5]) })
const wide: Change = (random) => ({ concurrency: 4 + random.whole(12) })
const notWide: Change = () => ({ concurrency: null })
const slots: Change = (random) => ({ concurrency: 1 + random.whole(6) })
const perMs = 2_000

/** What an operator may say of each workflow; of `deployed` nothing, since its releases do. */
const changes: Readonly<Record<Exclude<WorkflowName, 'deployed'>, readonly Change[]>> = {
  // With a limit of the workflow's own, its line is the lock, and without, each group's.
  solo: [perGroup, perGroup, wide, notWide],
  pairs: [perGroup, perGroup, wide, notWide],
  fives: [perGroup, perGroup, wide, notWide],
  // Now and then without any.
  plain: [slots, slots, notWide],
  wide: [perGroup, wide, wide, notWide],
  fair: [slots, (random) => ({ isFair: random.whole(2) === 0 })],
  rated: [(random) => ({ rate: { limit: 24 + random.whole(16), perMs } })],
  ratedGroups: [(random) => ({ ratePerGroup: { limit: 2 + random.whole(2), perMs } })],
  mixed: [
    perGroup,
    slots,
    (random) => ({ rate: { limit: 200 + random.whole(100), perMs: 4_000 } }),
    () => ({ rate: null }),
    (random) => ({ ratePerGroup: random.pick([null, { limit: 5 + random.whole(15), perMs }]) }),
  ],
}

const changeable = Object.keys(changes) as (keyof typeof changes)[]
