import type { Workflow } from '../../src/index.ts'
import type { Memo } from '../../src/model/journal.ts'
import type { Ending } from '../../src/model/outcome.ts'
import type { Death, DyingJournal } from './dying-journal.ts'

export interface ClaimOptions {
  readonly death?: Death | undefined
  /** Gets the journal of the claim's process before its handler begins. */
  readonly onBegin?: ((journal: DyingJournal) => void) | undefined
}

/** A run that a test takes through its claims one by one. */
export interface PlayedRun {
  /** As they are handed out. */
  memos(): Promise<readonly Memo[]>
  /** Runs one claim to its end. Undefined: its process died. */
  claim(workflow: Workflow, options?: ClaimOptions): Promise<Ending | undefined>
  isOver(ending: Ending | undefined, workflow: Workflow): boolean
}

/** Whether an ending is the run's: the database fails a run whose last attempt asks for another. */
export function isFinal(ending: Ending | undefined, attempt: number, { definition }: Workflow): boolean {
  const kind = ending?.outcome.kind
  return kind === 'done' || kind === 'failed' || (kind === 'retry' && attempt >= definition.maxAttempts)
}
