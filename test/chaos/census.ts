import type { Change, InForce, Move } from './limits-evidence.ts'

export interface Count {
  live: number
  waiting: number
}

/** Of one workflow, at one instant of its history: its limits, and how many of its runs run and wait. */
export class Census {
  readonly all: Count = { live: 0, waiting: 0 }
  readonly groups = new Map<string, Count>()
  inForce: InForce | null = null

  move({ group, oldState, state }: Move): void {
    for (const count of [this.all, this.group(group)]) {
      count.live += Number(state === 'running') - Number(oldState === 'running')
      count.waiting += Number(state === 'waiting') - Number(oldState === 'waiting')
    }
  }

  group(name: string): Count {
    const known = this.groups.get(name)
    if (known) return known
    const count = { live: 0, waiting: 0 }
    this.groups.set(name, count)
    return count
  }

  /** The limit of concurrency of a group; runs in none have none. */
  capOf(group: string): number {
    return group === '' ? Infinity : (this.inForce?.groupConcurrency ?? Infinity)
  }

  /** How many would run if the workflow's own limit let them. */
  get demand(): number {
    let sum = 0
    for (const [group, { live, waiting }] of this.groups)
      sum += Math.max(live, Math.min(this.capOf(group), live + waiting))
    return sum
  }
}

export type Happening =
  { readonly move: Move; readonly change?: never } | { readonly change: Change; readonly move?: never }

/** Moves and changes of limits as one, in the order in which they were decided. */
export function inOrder(moves: readonly Move[], changes: readonly Change[]): Happening[] {
  return merge(moves, changes).toSorted((a, b) => whatOf(a).n - whatOf(b).n)
}

/** The same in the order in which others could see them. */
export function asSeen(moves: readonly Move[], changes: readonly Change[]): Happening[] {
  return merge(moves, changes).toSorted((a, b) => {
    const [one, other] = [whatOf(a), whatOf(b)]
    return one.committedAt - other.committedAt || one.n - other.n
  })
}

export function whatOf({ move, change }: Happening): Move | Change {
  return move ?? change
}

function merge(moves: readonly Move[], changes: readonly Change[]): Happening[] {
  return [...moves.map((move) => ({ move })), ...changes.map((change) => ({ change }))]
}

export function isBegin({ oldState, state }: Move): boolean {
  return state === 'running' && oldState !== 'running'
}

export function isEnd({ oldState, state }: Move): boolean {
  return oldState === 'running' && state !== 'running'
}
