import type { Encoded } from './codec.ts'
import type { Queryable } from './run.ts'
import type { StartItem, StartRow } from './start-item.ts'
import type { Workflow } from './workflow.ts'

/**
 * All that an execution sees of storage: what was kept of earlier claims, and where to keep more. The live one writes
 * to Postgres under the claim's fence; a recorded one answers from a file.
 */
export interface Journal {
  /** Memos of earlier claims, by rising `seq`. */
  readonly memos: readonly Memo[]
  /** Steps waiting out a long retry of their own. */
  readonly tries: readonly PendingTry[]
  /** Nothing of the handler's way begins: whoever comes to something new waits. */
  readonly isRecorded?: boolean | undefined
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
  /**
   * Opens a wait, durably; asked again under the same key, what has become of it. Resolves with what ended it, which is
   * its memo then, or with how long it still may take. Rejects like `keep`.
   */
  open(wait: NewWait): Promise<WaitAnswer>
  /** Shows where the run is. Never rejects: progress is a courtesy. */
  progress(value: Encoded): void
}

/** `answer`: what a step or wait gave. `failure`: how it failed, where the handler went past that. `timeout`: a wait's. */
export type MemoKind = 'answer' | 'failure' | 'timeout'

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
  /** It can be undone. */
  readonly hasRollback?: boolean | undefined
}

export interface Memo extends StoredOutcome {
  readonly key: string
  readonly seq: number
  readonly ordinal: number
  readonly attempt: number
  readonly token: number
  readonly tries: number
  readonly hasRollback?: boolean | null | undefined
}

export interface PendingTry {
  readonly key: string
  readonly tries: number
  /** How long the step still has to wait, counted from the claim. */
  readonly waitMs: number
}

/** What a wait is for. `start` waits for nothing but a child's start. */
type WaitKind = 'sleep' | 'signal' | 'call' | 'park' | 'start'

export interface NewWait {
  readonly key: string
  readonly kind: WaitKind
  /** The name of the signals that end it. */
  readonly name?: string | undefined
  readonly delayMs?: number | undefined
  readonly until?: Date | undefined
  /** What a person is asked. */
  readonly reason?: string | undefined
  readonly child?: NewChild | undefined
  readonly ordinal: number
  /** The place of its memo, should it end now. */
  readonly seq: number
}

interface NewChild {
  readonly workflow: Workflow
  readonly item: StartItem
}

export type WaitAnswer =
  | { readonly kind: 'ended'; readonly outcome: StoredOutcome }
  /** Undefined: it has no time. */
  | { readonly kind: 'open'; readonly waitMs: number | undefined }
  /** The child was not started as asked, and nothing was opened. */
  | { readonly kind: 'refused'; readonly row: StartRow }
