import type { Memo, PendingTry } from './journal.ts'

/** One stretch of running a run, from taking its lease to ending it. */
export interface Claim {
  readonly id: string
  readonly token: number
  readonly workflow: string
  readonly key: string | undefined
  readonly group: string | undefined
  readonly attempt: number
  readonly maxAttempts: number
  readonly metadata: Readonly<Record<string, string>>
  /** Milliseconds left to the run's deadline when it was claimed. */
  readonly deadlineMs: number | undefined
  readonly input: { readonly json: string; readonly types: string | null }
  readonly memos: readonly Memo[]
  readonly tries: readonly PendingTry[]
}
