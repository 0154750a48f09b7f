import type { Encoded } from './codec.ts'
import type { Queryable } from './run.ts'

/**
 * All that an execution sees of storage: what was kept of earlier claims, and where to keep more. The live one writes
 * to Postgres under the claim's fence; a recorded one answers from a file.
 */
export interface Journal {
  /** Memos of earlier claims, by rising `seq`. */
  readonly memos: readonly Memo[]
  /** Steps waiting out a long retry of their own. */
  readonly tries: readonly PendingTry[]
  /**
   * Resolves once the outcome is durable, with what is stored: its own, or the one that was there already.
   * Rejects with LeaseLostError when the claim no longer holds the run.
   */
  keep(memo: NewMemo): Promise<StoredOutcome>
  /**
   * Runs `body` in a transaction and keeps the memo it makes in the same one. `body` may run more than once: after a
   * serialization failure everything it wrote was undone.
   */
  transact(body: (tx: Queryable) => Promise<NewMemo>): Promise<StoredOutcome>
  /** Shows where the run is. Never rejects: progress is a courtesy. */
  progress(value: Encoded): void
}

/** `answer`: what a step gave. `failure`: how it failed, where the handler went past that. */
export type MemoKind = 'answer' | 'failure'

export interface StoredOutcome {
  readonly kind: MemoKind
  readonly value: string
  readonly types: string | null
}

export interface NewMemo extends StoredOutcome {
  readonly key: string
  /** The order in which outcomes were made, and in which they are handed out on every replay. */
  readonly seq: number
  /** The place of the call among the claim's calls. */
  readonly ordinal: number
  readonly tries: number
  readonly durationMs: number
  /** JSON text of the step's `args` option, or undefined. */
  readonly args: string | undefined
}

export interface Memo extends StoredOutcome {
  readonly key: string
  readonly seq: number
  readonly ordinal: number
  readonly attempt: number
  readonly token: number
  readonly tries: number
}

export interface PendingTry {
  readonly key: string
  readonly tries: number
  /** How long the step still has to wait, counted from the claim. */
  readonly waitMs: number
}
