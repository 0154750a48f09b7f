import type { Claim, Lease, Undone } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'
import { decode } from '../model/codec.ts'
import { NonRetryableError } from '../model/errors.ts'
import type { Journal, Memo, NewMemo } from '../model/journal.ts'
import { resolveRetry } from '../model/retry.ts'
import type { Run, Step } from '../model/run.ts'
import type { Definition } from '../model/workflow.ts'
import { silentLogger } from '../trace/bound-logger.ts'
import type { CallsOptions } from './calls.ts'
import { Operations } from './operations.ts'
import { createRunHandle } from './run-handle.ts'
import { Scope } from './scope.ts'
import { noStepOptions, type ResolvedStepOptions } from './step-options.ts'
import type { Undoable } from './steps.ts'

/**
 * A run that undoes another one. The other's handler is called again on the other's record, whose bodies do not run, until
 * it has come past every kept step that can be undone; then their rollbacks run, the last kept step's first, as steps of
 * this run under the same keys.
 */

/** A journal that knows what was kept, and keeps nothing. Of what is new only the version of a place comes to it. */
function recordedJournal(memos: readonly Memo[]): Journal {
  const never = (): Promise<never> => new Promise(() => undefined)
  const keep = (memo: NewMemo): Promise<NewMemo> => Promise.resolve(memo)
  return { memos, tries: [], isRecorded: true, keep, transact: never, open: never, progress: () => undefined }
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
const longestRestMs = 1_000

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
  const failed: string[] = []
  const bodies = [...undoables.inOrder.map((each) => bodyOf(each)), ...undoables.missing.map((key) => lost(key))]
  for (const { key, how, run } of bodies) {
    try {
      await operations.steps.call(key, how, { kind: 'plain', name: key, run })
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

interface RollbackBody {
  readonly key: string
  readonly how: ResolvedStepOptions
  readonly run: (step: Step) => unknown
}

function bodyOf({ memo, options }: Undoable): RollbackBody {
  const { rollback, retry = patientRetry, timeoutMs } = options
  const answer = decode(memo.value, memo.types) as never
  const maxTries = options.retry ? options.maxTries : mostTries
  const how = { ...noStepOptions, retry, maxTries, timeoutMs }
  return { key: memo.key, how, run: (step) => rollback?.(answer, step) }
}

function lost(key: string): RollbackBody {
  const run = (): never => {
    throw new NonRetryableError('The replay of the handler did not come to this step, so how to undo it is not known.')
  }
  return { key, how: noStepOptions, run }
}

/** Calls the other run's handler on its record, until its rollbacks are known. */
async function replay({ definition, claim, lease, clock, undone, input, calls }: UndoOptions): Promise<Undoables> {
  const { id, memos } = undone
  const undoables = new Undoables(memos)
  const log = silentLogger
  const enough = new AbortController()
  let scope!: Scope
  // Something else than run may be awaited beside the waits it rests at.
  const rested = new Promise<void>((resolve) => {
    scope = new Scope(clock, log, () => void clock.sleep(longestRestMs, enough.signal).then(resolve))
  })
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
  const handled = (async () => await definition.handler(input as never, run))().catch(() => undefined)
  await Promise.race([undoables.all, handled, rested, clock.sleep(longestReplayMs, enough.signal)])
  enough.abort()
  scope.end()
  operations.waits.close()
  return undoables
}
