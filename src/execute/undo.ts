import type { Claim, Lease, Undone } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'
import { decode } from '../model/codec.ts'
import { NonRetryableError } from '../model/errors.ts'
import type { Journal, Memo } from '../model/journal.ts'
import { resolveRetry } from '../model/retry.ts'
import type { Run } from '../model/run.ts'
import type { Definition } from '../model/workflow.ts'
import { silentLogger } from '../trace/bound-logger.ts'
import type { CallsOptions } from './calls.ts'
import { Operations } from './operations.ts'
import { createRunHandle } from './run-handle.ts'
import { Scope } from './scope.ts'
import type { Undoable } from './steps.ts'

/**
 * A run that undoes another one. The other's handler is called again on the other's record, whose bodies do not run, until
 * it has come past every kept step that can be undone; then their rollbacks run, the last kept step's first, as steps of
 * this run under the same keys.
 */

/** A journal that knows what was kept, and keeps nothing: whoever wants more waits for ever. */
function recordedJournal(memos: readonly Memo[]): Journal {
  const never = (): Promise<never> => new Promise(() => undefined)
  return { memos, tries: [], isRecorded: true, keep: never, transact: never, open: never, progress: () => undefined }
}

/** Collects the steps that can be undone, as a replay meets them. */
class Undoables {
  readonly #wanted: ReadonlySet<string>
  readonly #met = new Map<string, Undoable>()
  #onAll: () => void = () => undefined
  /** Resolves when all were met. */
  readonly all: Promise<void>

  constructor(memos: readonly Memo[]) {
    this.#wanted = new Set(memos.filter((memo) => memo.hasRollback).map((memo) => memo.key))
    this.all = new Promise((resolve) => void (this.#onAll = resolve))
  }

  add(undoable: Undoable): void {
    this.#met.set(undoable.memo.key, undoable)
    if (this.missing.length === 0) this.#onAll()
  }

  /** Those that the replay has not come to. */
  get missing(): readonly string[] {
    return [...this.#wanted].filter((key) => !this.#met.has(key))
  }

  /** The last one kept first. */
  get inOrder(): readonly Undoable[] {
    return [...this.#met.values()].toSorted((a, b) => b.memo.seq - a.memo.seq)
  }
}

interface Undoing {
  readonly undone: readonly string[]
}

const patientRetry = resolveRetry({}, 'retry')
const mostTries = 10
/** How long a replay may take to come to the rollbacks of all kept steps. */
const longestReplayMs = 10_000

export interface UndoOptions {
  readonly definition: Definition
  readonly claim: Claim
  readonly lease: Lease
  readonly clock: Clock
  readonly undone: Undone
  readonly input: unknown
  readonly run: Run
  readonly calls: CallsOptions
}

/** Runs the rollbacks. One that fails for good is kept as that, and the others run. */
export async function undo(options: UndoOptions, operations: Operations): Promise<Undoing> {
  const undoables = await replay(options)
  const undone: string[] = []
  const failed: string[] = [...undoables.missing]
  for (const undoable of undoables.inOrder) {
    const { key } = undoable.memo
    try {
      await rollBack(undoable, operations)
      undone.push(key)
    } catch (error) {
      options.run.log.error({ error, step: key }, 'A rollback failed for good; the others go on.')
      failed.push(key)
    }
  }
  if (failed.length > 0) {
    const count = failed.length + undone.length
    throw new NonRetryableError(`${failed.length} of ${count} rollbacks failed: ${failed.join(', ')}.`)
  }
  return { undone }
}

function rollBack({ memo, options }: Undoable, { steps }: Operations): Promise<unknown> {
  const { rollback, retry, maxTries, timeoutMs } = options
  const answer = decode(memo.value, memo.types) as never
  const how = {
    args: undefined,
    retry: retry ?? patientRetry,
    maxTries: retry ? maxTries : mostTries,
    timeoutMs,
    rollback: undefined,
  }
  return steps.call(memo.key, how, { kind: 'plain', run: (step) => rollback?.(answer, step) })
}

/** Calls the other run's handler on its record, until its rollbacks are known. */
async function replay({ definition, claim, lease, clock, undone, input, calls }: UndoOptions): Promise<Undoables> {
  const { id, memos } = undone
  const undoables = new Undoables(memos)
  const log = silentLogger
  const scope = new Scope(clock, log, () => undefined)
  const journal = recordedJournal(memos)
  const operations = new Operations(
    { ...calls, runId: id, journal, scope, log, onMismatch: () => undefined },
    (undoable) => undoables.add(undoable),
  )
  const run = createRunHandle({
    claim: { ...claim, id },
    journal,
    lease,
    scope,
    operations: () => operations,
    clock,
    log,
    onDirective: () => undefined,
    onLost: () => undefined,
  })
  const enough = new AbortController()
  const handled = (async () => await definition.handler(input as never, run))().catch(() => undefined)
  await Promise.race([undoables.all, handled, clock.sleep(longestReplayMs, enough.signal)])
  enough.abort()
  scope.end()
  operations.waits.close()
  return undoables
}
