import { decode } from '../model/codec.ts'
import type { FailureCause } from '../model/errors.ts'
import { reviveError, type StoredError } from '../model/stored-error.ts'
import type { State } from '../model/state.ts'

/** A run as `get` shows it. Instants are the database's; a value that cannot be read back is its UnserializableError. */
export interface RunView {
  readonly id: string
  readonly workflow: string
  readonly key: string | undefined
  readonly group: string | undefined
  readonly state: State
  /** While it waits: how many of its line go before it, counted up to 10,000. Only `get` counts; in a list it is undefined. */
  readonly ahead: number | undefined
  /** 0 before the first claim. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly priority: number
  readonly metadata: Readonly<Record<string, string>>
  readonly input: unknown
  /** What the handler returned, once the run is done. */
  readonly output: unknown
  /** What the handler last gave to `run.progress`. */
  readonly progress: unknown
  /** Why it failed for good. */
  readonly failure: FailureCause | undefined
  /** What was said with its last directive, failure or cancel. */
  readonly reason: string | undefined
  readonly lastError: Error | undefined
  readonly createdAt: Date
  readonly dueAt: Date | undefined
  /** When its last claim began. */
  readonly claimedAt: Date | undefined
  readonly leaseUntil: Date | undefined
  readonly endedAt: Date | undefined
  readonly workerId: string | undefined
  /** The run whose handler started it. */
  readonly parentId: string | undefined
  /** The run that went on where this one ended. */
  readonly continuedAs: string | undefined
  /** The run whose steps this one undoes. */
  readonly undoes: string | undefined
  /** Its last 100 claims, the newest first. Only `get` and what follows it have them; in a list it is undefined. */
  readonly claims: readonly ClaimView[] | undefined
  /** What became of its kept steps after it had failed or was cancelled. */
  readonly rollback: Rollback | undefined
}

/** One claim of a run: by which worker, how it ended, and where its trace is. */
export interface ClaimView {
  readonly token: number
  readonly attempt: number
  readonly workerId: string | undefined
  readonly beganAt: Date
  /** Undefined, like its outcome, while it runs. */
  readonly endedAt: Date | undefined
  readonly outcome: ClaimOutcome | undefined
  readonly reason: string | undefined
  /** How many kept outcomes its handler got back. */
  readonly recalled: number | undefined
  /** Of its span. Undefined: it was not traced, not sampled, or its process died too soon. */
  readonly traceId: string | undefined
  readonly spanId: string | undefined
  /** Where to look at it, if the client was given `traceUrl`. */
  readonly traceUrl: string | undefined
}

/** How a claim ended, on record. */
export type ClaimOutcome =
  'done' | 'retry' | 'snooze' | 'suspended' | 'released' | 'lease_lost' | 'failed' | 'cancelled'

/** The undoing of a run's kept steps: by which run, how that stands, and which steps it has undone and could not undo. */
export interface Rollback {
  readonly run: string
  readonly state: State
  readonly undone: readonly string[]
  readonly failed: readonly string[]
}

interface RunRow {
  readonly id: string
  readonly workflow: string
  readonly key: string | null
  readonly group_key: string | null
  readonly state: State
  readonly attempt: number
  readonly max_attempts: number
  readonly priority: number
  readonly created_at: string
  readonly due_at: string | null
  readonly claimed_at: string | null
  readonly lease_until: string | null
  readonly ended_at: string | null
  readonly worker_id: string | null
  readonly parent_id: string | null
  readonly continued_as: string | null
  readonly undoes: string | null
  readonly rollback: Rollback | null
  readonly failure: FailureCause | null
  readonly reason: string | null
  readonly metadata: string | null
  readonly input: string | null
  readonly input_types: string | null
  readonly output: string | null
  readonly output_types: string | null
  readonly progress: string | null
  readonly progress_types: string | null
  readonly error: string | null
}

export function toRunView(json: string): RunView {
  const row = JSON.parse(json) as RunRow
  return {
    id: row.id,
    workflow: row.workflow,
    key: row.key ?? undefined,
    group: row.group_key ?? undefined,
    state: row.state,
    ahead: undefined,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    priority: row.priority,
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    input: toValue(row.input, row.input_types),
    output: toValue(row.output, row.output_types),
    progress: toValue(row.progress, row.progress_types),
    failure: row.failure ?? undefined,
    reason: row.reason ?? undefined,
    lastError: row.error === null ? undefined : reviveError(JSON.parse(row.error) as StoredError),
    createdAt: new Date(row.created_at),
    dueAt: toDate(row.due_at),
    claimedAt: toDate(row.claimed_at),
    leaseUntil: toDate(row.lease_until),
    endedAt: toDate(row.ended_at),
    workerId: row.worker_id ?? undefined,
    parentId: row.parent_id ?? undefined,
    continuedAs: row.continued_as ?? undefined,
    undoes: row.undoes ?? undefined,
    rollback: row.rollback ?? undefined,
    claims: undefined,
  }
}

interface ClaimRow {
  readonly token: number
  readonly attempt: number
  readonly worker: string | null
  readonly beganAt: string
  readonly endedAt: string | null
  readonly outcome: ClaimOutcome | null
  readonly recalled: number | null
  readonly reason: string | null
  readonly trace: string | null
}

/** `traceUrl`: the address of a trace, with {traceId} and {spanId} in it. */
export function toClaimViews(json: string, traceUrl: string | undefined): ClaimView[] {
  return (JSON.parse(json) as ClaimRow[]).map((row) => {
    const [, traceId, spanId] = row.trace?.split('-') ?? []
    return {
      token: row.token,
      attempt: row.attempt,
      workerId: row.worker ?? undefined,
      beganAt: new Date(row.beganAt),
      endedAt: toDate(row.endedAt),
      outcome: row.outcome ?? undefined,
      reason: row.reason ?? undefined,
      recalled: row.recalled ?? undefined,
      traceId,
      spanId,
      traceUrl: traceId && traceUrl?.replaceAll('{traceId}', traceId).replaceAll('{spanId}', spanId ?? ''),
    }
  })
}

/** One value that cannot be read back must not hide its run, nor the others of a list. */
function toValue(json: string | null, types: string | null): unknown {
  try {
    return json === null ? undefined : decode(json, types)
  } catch (error) {
    return error
  }
}

function toDate(text: string | null): Date | undefined {
  return text === null ? undefined : new Date(text)
}
