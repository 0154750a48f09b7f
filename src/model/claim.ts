import type { Memo, PendingTry } from './journal.ts'

/** One stretch of running a run, from taking its lease to ending it. */
export interface Claim {
  readonly id: string
  readonly token: number
  readonly workflow: string
  readonly key: string | undefined
  readonly group: string | undefined
  /** A limit rules it, so its end gives room to the next of its line. */
  readonly isLimited: boolean
  readonly attempt: number
  readonly maxAttempts: number
  readonly metadata: Readonly<Record<string, string>>
  /** When its lease is over, by the database's clock. */
  readonly leaseUntil: Date
  /** Milliseconds left to the run's deadline when it was claimed. */
  readonly deadlineMs: number | undefined
  readonly input: { readonly json: string; readonly types: string | null }
  readonly memos: readonly Memo[]
  readonly tries: readonly PendingTry[]
  /** How often the run was brought back after its end. */
  readonly retries: number
  /** The run whose kept steps this one undoes. */
  readonly undone: Undone | undefined
  /** For its trace and metrics alone. */
  readonly past: Past
}

/** What went before a claim. */
export interface Past {
  /** From when it was due, or given back, to the claim. */
  readonly waitedMs: number
  /** From the run's start to the claim. */
  readonly ageMs: number
  /** For how long of that wait it was set aside, and for what. */
  readonly aside: { readonly ms: number; readonly for: 'concurrency' | 'rate' | 'pause' } | undefined
  /** The W3C trace context of what started the run, if that was traced. */
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  /** The traceparent of its last claim's span. */
  readonly previous: string | undefined
  /** The topmost of its parents' parents. */
  readonly root: string | undefined
  readonly isChild: boolean
}

export const noPast: Past = {
  waitedMs: 0,
  ageMs: 0,
  aside: undefined,
  traceparent: undefined,
  tracestate: undefined,
  previous: undefined,
  root: undefined,
  isChild: false,
}

export interface Undone {
  readonly id: string
  readonly memos: readonly Memo[]
}

/** The right to run a claim, as its handler sees it. */
export interface Lease {
  /** By the database's clock; it moves on with each renewal. */
  readonly expiresAt: Date
  /** Holds it for so long from now at least, and no longer than its workflow allows. Rejects once it is lost. */
  extend(ms: number): Promise<Date>
}
