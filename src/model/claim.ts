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
