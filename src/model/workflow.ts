import type { ErrorClass, Limits } from './policy.ts'
import type { ResolvedRetry } from './retry.ts'
import type { Run } from './run.ts'
import type { Schema } from './schema.ts'

/**
 * A definition. `I` is what `start` takes, `P` what the handler gets, `O` what `result` gives, `N` its name.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- a list of workflows holds any inputs
export interface Workflow<I = any, P = any, O = unknown, N extends string = string> {
  readonly name: N
  readonly definition: Definition
  /** Types only; never there at run time. */
  readonly '~types'?: { readonly input: I; readonly parsed: P; readonly output: O }
}

/** What becomes of a claim whose handler goes another way than its record. */
export type OnMismatch = 'warn' | 'park' | 'fail'

/** A workflow's options, resolved: every default filled in, every duration in milliseconds. */
export interface Definition {
  readonly name: string
  readonly input: Schema | undefined
  readonly output: Schema | undefined
  readonly handler: (input: never, run: Run) => unknown
  readonly retry: ResolvedRetry
  readonly maxAttempts: number
  readonly timeoutMs: number
  readonly deadlineMs: number | undefined
  readonly leaseMs: number
  readonly maxLeaseMs: number
  readonly priority: number
  readonly keepMs: number
  readonly keepDoneMs: number
  readonly dedupeMs: number
  readonly maxWaiting: number | undefined
  readonly maxSteps: number
  readonly onMismatch: OnMismatch
  readonly errors: readonly ErrorClass[]
  readonly group: Limits<never>['group']
  readonly limits: ResolvedLimits
  readonly schedule: ResolvedSchedule | undefined
  /** Changes whenever what the database must know about the definition changes. */
  readonly fingerprint: string
}

export interface ResolvedLimits {
  readonly concurrency: number | undefined
  readonly concurrencyPerGroup: number | undefined
  readonly rate: ResolvedRate | undefined
  readonly ratePerGroup: ResolvedRate | undefined
  readonly isFair: boolean
}

/** A schedule as the database keeps it too: it has either `cron` or `everyMs`. */
export interface ResolvedSchedule {
  readonly cron: string | undefined
  readonly zone: string
  readonly everyMs: number | undefined
  readonly catchUp: 'none' | 'one' | 'all'
  readonly overlap: 'skip' | 'queue' | 'allow'
  /** What each run is started with, in its stored form. */
  readonly inputJson: string
  readonly inputTypes: string | null
}

export interface ResolvedRate {
  readonly limit: number
  readonly perMs: number
}
