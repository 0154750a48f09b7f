import type { SetLimits } from '../db/limit-calls.ts'
import { printable } from './show.ts'

/** A workflow's limits as the database tells them: what is in force, whence it comes, and how its lines stand. */
export interface ShownLimits {
  readonly workflow: string
  readonly inForce: SetLimits
  readonly set: { readonly limits: SetLimits; readonly by: string | null; readonly at: string } | null
  readonly paused: { readonly since: string; readonly by: string | null; readonly reason: string | null } | null
  readonly live: number
  readonly setAside: number
  readonly rateLeft: number | null
  readonly groups: readonly {
    readonly group: string
    readonly live: number
    readonly setAside: number
    readonly rateLeft: number | null
  }[]
}

/** One workflow a paragraph: a line of its own, then its groups. */
export function printLimits(workflows: readonly ShownLimits[]): void {
  if (workflows.length === 0) return console.error('No workflow has limits.')
  for (const { workflow, inForce, set, paused, live, setAside, rateLeft, groups } of workflows) {
    console.log(`${printable(workflow)}: ${describe(inForce)}`)
    if (set) {
      const names = Object.keys(set.limits).map((name) => labels[name as keyof SetLimits])
      console.log(`  set by ${printable(set.by ?? 'somebody')} at ${set.at}: ${names.join(', ')}`)
    }
    if (paused) {
      const why = paused.reason === null ? '' : `: ${paused.reason}`
      console.log(printable(`  paused by ${paused.by ?? 'somebody'} since ${paused.since}${why}`))
    }
    console.log(`  ${standing(live, setAside, rateLeft)}`)
    for (const each of groups) {
      console.log(`  ${printable(each.group)}: ${standing(each.live, each.setAside, each.rateLeft)}`)
    }
  }
}

const labels: { readonly [Name in keyof Required<SetLimits>]: string } = {
  concurrency: 'concurrency',
  concurrencyPerGroup: 'concurrency of a group',
  rate: 'rate',
  ratePerGroup: 'rate of a group',
  isFair: 'fairness',
}

function describe({ concurrency, concurrencyPerGroup, rate, ratePerGroup, isFair }: SetLimits): string {
  const parts = [
    concurrency && `${concurrency} at once`,
    rate && `${rate.limit} in ${rate.perMs} ms`,
    concurrencyPerGroup && `${concurrencyPerGroup} of a group at once`,
    ratePerGroup && `${ratePerGroup.limit} of a group in ${ratePerGroup.perMs} ms`,
    isFair && 'groups by turns',
  ].filter(Boolean)
  return parts.length === 0 ? 'no limits' : parts.join(', ')
}

function standing(live: number, setAside: number, rateLeft: number | null): string {
  const rest = rateLeft === null ? '' : `, ${rateLeft} more may begin now`
  return `${live} running, ${setAside} set aside${rest}`
}
