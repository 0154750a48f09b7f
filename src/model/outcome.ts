import type { Encoded } from './codec.ts'
import type { FailureCause, LeaseLostReason } from './errors.ts'
import type { NewMemo } from './journal.ts'
import type { StartItem } from './start-item.ts'
import type { StoredError } from './stored-error.ts'

/** How a claim ends. Closed: whatever settles is a record keyed by the whole of it. */
export type Outcome =
  | { readonly kind: 'done'; readonly output: Encoded }
  /** It is done, and this run goes on under its key. */
  | { readonly kind: 'continued'; readonly next: StartItem }
  | {
      readonly kind: 'retry'
      readonly delayMs: number
      readonly reason: string | undefined
      readonly error: StoredError | undefined
      /** Why the run fails if this was its last attempt. */
      readonly ifLast: FailureCause
    }
  | { readonly kind: 'snooze'; readonly delayMs: number; readonly reason: string | undefined }
  | {
      readonly kind: 'failed'
      readonly failure: FailureCause
      readonly reason: string | undefined
      readonly error: StoredError | undefined
    }
  /**
   * `wakeMs`: when a step is due again that waits for a try; what its waits are for is on record. `isParked`: one of them
   * is for a person.
   */
  | { readonly kind: 'suspended'; readonly wakeMs: number | undefined; readonly isParked: boolean }
  | { readonly kind: 'released' }
  | { readonly kind: 'lost'; readonly reason: LeaseLostReason | 'cancelled' }

/** An outcome with what the claim leaves on record beside it. */
export interface Ending {
  readonly outcome: Outcome
  /** How many kept outcomes the handler got back. */
  readonly recalled: number
  /** Failures that the handler went past, to be kept with the outcome. */
  readonly failures: readonly NewMemo[]
  /** Steps that were tried and have no kept outcome. */
  readonly tries: readonly TriedStep[]
}

export interface TriedStep {
  readonly key: string
  readonly tries: number
  readonly error: StoredError
  /** When the step is due again; undefined: with the run. */
  readonly retryMs: number | undefined
}
