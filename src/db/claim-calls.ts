import type { Claim } from '../model/claim.ts'
import { LeaseLostError, type LeaseLostReason } from '../model/errors.ts'
import type { Memo, MemoKind, NewMemo, PendingTry, StoredOutcome } from '../model/journal.ts'
import type { Queryable } from '../model/run.ts'
import { jsonArray, plainArray, textArray } from './arrays.ts'
import type { Database } from './database.ts'

/**
 * The calls that a claim is made of, many runs' in one: claim, keep, settle. Names are those of sql/functions. What each
 * function takes, in its order, is what `claimValues` and the like make.
 */

export interface ClaimRow {
  readonly id: string
  readonly token: number
  readonly workflow: string
  readonly key: string | null
  readonly group_key: string | null
  readonly attempt: number
  readonly max_attempts: number
  readonly deadline_ms: number | null
  readonly metadata: string | null
  readonly input: string | null
  readonly input_types: string | null
  readonly memos: string | null
  readonly tries: string | null
  readonly lease_until_ms: number
}

export interface ClaimItem {
  readonly id: string
  readonly lease_ms: number
}

export function claimValues(workerId: string, items: readonly ClaimItem[], isRepeated: boolean): unknown[] {
  return [workerId, idsOf(items), plainArray(items, (item) => item.lease_ms), isRepeated]
}

/** `isRepeated`: the reply to the same claim was lost, so what this worker already has of it is its own. */
export async function claimRuns(
  database: Database,
  workerId: string,
  items: readonly ClaimItem[],
  isRepeated: boolean,
): Promise<Claim[]> {
  const rows = await database.call<ClaimRow>('claim_runs', claimValues(workerId, items, isRepeated))
  return rows.map((row) => ({
    id: row.id,
    token: row.token,
    workflow: row.workflow,
    key: row.key ?? undefined,
    group: row.group_key ?? undefined,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    deadlineMs: row.deadline_ms ?? undefined,
    input: { json: row.input ?? 'null', types: row.input_types },
    memos: row.memos === null ? [] : (JSON.parse(row.memos) as Memo[]),
    leaseUntil: new Date(row.lease_until_ms),
    tries: row.tries === null ? [] : (JSON.parse(row.tries) as PendingTry[]),
  }))
}

export interface KeepItem {
  readonly id: string
  readonly token: number
  readonly key: string
  readonly kind: MemoKind
  readonly value: string
  readonly types: string | null
  readonly seq: number
  readonly ordinal: number
  readonly tries: number
  readonly duration_ms: number
  readonly args: string | undefined
}

export function keepItem({ id, token }: Pick<Claim, 'id' | 'token'>, memo: NewMemo): KeepItem {
  const { key, kind, value, types, seq, ordinal, tries, durationMs, args } = memo
  return { id, token, key, kind, value, types, seq, ordinal, tries, duration_ms: durationMs, args }
}

function idsOf(items: readonly { readonly id: string }[]): string {
  return plainArray(items, (item) => item.id) ?? '{}'
}

export function keepValues(items: readonly KeepItem[], isOnce: boolean): unknown[] {
  return [
    idsOf(items),
    plainArray(items, (item) => item.token),
    textArray(items, (item) => item.key),
    plainArray(items, (item) => item.kind),
    jsonArray(items, (item) => item.value),
    textArray(items, (item) => item.types),
    plainArray(items, (item) => item.seq),
    plainArray(items, (item) => item.ordinal),
    plainArray(items, (item) => item.tries),
    plainArray(items, (item) => item.duration_ms),
    textArray(items, (item) => item.args),
    isOnce,
  ]
}

export interface KeepProblem {
  readonly n: number
  readonly lost: LeaseLostReason | null
  readonly kind: MemoKind | null
  readonly value: string | null
  readonly types: string | null
}

export async function keepSteps(database: Database, items: readonly KeepItem[]): Promise<readonly KeepProblem[]> {
  return await database.call<KeepProblem>('keep_steps', keepValues(items, false))
}

/** In the caller's transaction. A memo that is there already was not made by this call, even if it looks the same. */
export async function keepOnce(database: Database, item: KeepItem, on: Queryable): Promise<KeepProblem | undefined> {
  const [problem] = await database.callOn<KeepProblem>(on, 'keep_steps', keepValues([item], true))
  return problem
}

function lostLease(runId: string, reason: LeaseLostReason): LeaseLostError {
  return new LeaseLostError(`The lease on run ${runId} was lost (${reason}).`, reason)
}

/** LeaseLostError if the claim is lost; else what was stored before. */
export function storedOrLost(runId: string, problem: KeepProblem): StoredOutcome | LeaseLostError {
  const { lost, kind, value, types } = problem
  if (lost) return lostLease(runId, lost)
  return { kind: kind ?? 'answer', value: value ?? 'null', types }
}

export interface Extension {
  readonly until: Date
  /** How far off that was when the database decided it. */
  readonly leftMs: number
}

interface ExtensionRow {
  readonly lease_until_ms: number | null
  readonly left_ms: number | null
  readonly lost: LeaseLostReason | null
}

/** Throws LeaseLostError. */
export async function extendLease(
  database: Database,
  { id, token }: Pick<Claim, 'id' | 'token'>,
  leaseMs: number,
): Promise<Extension> {
  const [row] = await database.call<ExtensionRow>('extend_leases', [[id], [token], [leaseMs]])
  const { lease_until_ms: untilMs = null, left_ms: leftMs = null, lost = 'not_found' } = row ?? {}
  if (lost || untilMs === null || leftMs === null) throw lostLease(id, lost ?? 'not_found')
  return { until: new Date(untilMs), leftMs }
}

export interface SettleItem {
  readonly id: string
  readonly token: number
  readonly outcome: string
  readonly recalled: number
  readonly output?: string | undefined
  readonly output_types?: string | null | undefined
  /** Whatever else there is to say; most claims that are done have nothing. */
  readonly details?: SettleDetails | undefined
}

export interface SettleDetails {
  readonly delay_ms?: number | undefined
  readonly failure?: string | undefined
  readonly reason?: string | undefined
  readonly error?: unknown
  readonly waits_for?: readonly string[] | undefined
  readonly memos?: readonly object[] | undefined
  readonly tries?: readonly object[] | undefined
}

export function settleValues(workerId: string, items: readonly SettleItem[]): unknown[] {
  return [
    workerId,
    idsOf(items),
    plainArray(items, (item) => item.token),
    plainArray(items, (item) => item.outcome),
    plainArray(items, (item) => item.recalled),
    jsonArray(items, (item) => item.output),
    textArray(items, (item) => item.output_types),
    jsonArray(items, ({ details }) => details && JSON.stringify(details)),
  ]
}

export async function settleRuns(
  database: Database,
  workerId: string,
  items: readonly SettleItem[],
): Promise<readonly { n: number; lost: LeaseLostReason }[]> {
  return await database.call('settle_runs', settleValues(workerId, items))
}
