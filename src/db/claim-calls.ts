import type { Claim } from '../model/claim.ts'
import { LeaseLostError, type LeaseLostReason } from '../model/errors.ts'
import type { MemoKind, NewMemo, StoredOutcome } from '../model/journal.ts'
import type { Queryable } from '../model/run.ts'
import { jsonArray, plainArray, textArray } from './arrays.ts'
import { readClaims, type Claimed, type ClaimRow } from './claim-rows.ts'
import type { Database } from './database.ts'

/**
 * The calls that a claim begins with and keeps its outcomes by, many runs' in one. Names are those of sql/functions. What each
 * function takes, in its order, is what `claimValues` and the like make.
 */

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
): Promise<Claimed> {
  return readClaims(await database.call<ClaimRow>('claim_runs', claimValues(workerId, items, isRepeated)))
}

/** A ticket of a limited workflow: `run` is undefined if it names a line alone. */
export interface LineTicket {
  readonly run: string | undefined
  readonly workflow: string
  readonly group: string | undefined
  readonly lease_ms: number
}

export function lineValues(workerId: string, tickets: readonly LineTicket[]): unknown[] {
  return [workerId, ...ticketArrays(tickets), plainArray(tickets, (ticket) => ticket.lease_ms)]
}

export async function claimLines(
  database: Database,
  workerId: string,
  tickets: readonly LineTicket[],
): Promise<Claimed> {
  return readClaims(await database.call<ClaimRow>('claim_lines', lineValues(workerId, tickets)))
}

type NamedTicket = Omit<LineTicket, 'lease_ms'>

export async function returnTickets(database: Database, tickets: readonly NamedTicket[]): Promise<void> {
  await database.call('return_tickets', ticketArrays(tickets))
}

function ticketArrays(tickets: readonly NamedTicket[]): (string | null)[] {
  return [
    plainArray(tickets, ({ run }) => run),
    textArray(tickets, ({ workflow }) => workflow),
    textArray(tickets, ({ group }) => group),
  ]
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
  readonly has_rollback?: boolean | undefined
}

export function keepItem({ id, token }: Pick<Claim, 'id' | 'token'>, memo: NewMemo): KeepItem {
  const { key, kind, value, types, seq, ordinal, tries, durationMs, args, hasRollback } = memo
  return {
    id,
    token,
    key,
    kind,
    value,
    types,
    seq,
    ordinal,
    tries,
    duration_ms: durationMs,
    args,
    has_rollback: hasRollback,
  }
}

/** The ids of a column. */
export function idsOf(items: readonly { readonly id: string }[]): string {
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
    textArray(items, (item) => (item.has_rollback ? 'true' : undefined)),
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

export function lostLease(runId: string, reason: LeaseLostReason): LeaseLostError {
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

export interface TracedItem {
  readonly id: string
  readonly token: number
  readonly traceparent: string
}

export async function traceClaims(database: Database, items: readonly TracedItem[]): Promise<void> {
  await database.call('trace_claims', [
    idsOf(items),
    plainArray(items, (item) => item.token),
    plainArray(items, (item) => item.traceparent),
  ])
}
