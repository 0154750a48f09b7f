import type { State } from './state.ts'

/** How a whole database stands, as metrics have it. */
export interface Standing {
  readonly depths: readonly Depth[]
  readonly limits: readonly LimitStanding[]
  readonly workers: readonly WorkerStanding[]
}

interface Depth {
  readonly workflow: string
  readonly state: State
  readonly count: number
  /** For how many seconds the oldest of those that wait has been due; null: none is, or they do not wait. */
  readonly oldest: number | null
}

interface LimitStanding {
  readonly workflow: string
  readonly kind: 'concurrency' | 'rate' | 'concurrency_per_group' | 'rate_per_group'
  /** Of groups, that of the one that uses most. */
  readonly usage: number
  readonly limit: number
  /** Lines at their limit while runs wait. */
  readonly saturated: number
}

interface WorkerStanding {
  readonly id: string
  readonly slots: number
  readonly used: number
}
