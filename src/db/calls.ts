import type { Claim } from '../model/claim.ts'
import { LeaseLostError, type LeaseLostReason } from '../model/errors.ts'
import type { Memo, MemoKind, NewMemo, PendingTry, StoredOutcome } from '../model/journal.ts'
import type { Queryable } from '../model/run.ts'
import type { State } from '../model/state.ts'
import type { Database } from './database.ts'

/** One typed call for each SQL function. Names and meaning are those of sql/functions. */

export interface StartItem {
  readonly id: string
  readonly workflow: string
  readonly key: string | undefined
  readonly group_key: string | undefined
  readonly priority: number
  readonly max_attempts: number
  readonly at: string | undefined
  readonly delay_ms: number | undefined
  readonly deadline_ms: number | undefined
  readonly dedupe_ms: number
  readonly metadata: Readonly<Record<string, string>> | undefined
  readonly input: string
  readonly input_types: string | null
}

export interface StartRow {
  readonly n: number
  readonly id: string
  readonly is_created: boolean
  readonly state: State
  readonly is_same_workflow: boolean
  readonly is_same_input: boolean
}

export async function startRuns(
  database: Database,
  items: readonly StartItem[],
  on?: Queryable,
): Promise<readonly StartRow[]> {
  const values = [JSON.stringify(items)]
  const rows = on
    ? await database.callOn<StartRow>(on, 'start_runs', values)
    : await database.call<StartRow>('start_runs', values)
  return rows.toSorted((a, b) => a.n - b.n)
}

export interface NamedStart {
  readonly workflow: string
  readonly input: string
  readonly key: string | undefined
  readonly group: string | undefined
  readonly dueAt: string | undefined
  readonly priority: number | undefined
  readonly id: string
  readonly metadata: string | undefined
  readonly maxAttempts: number | undefined
  readonly delayMs: number | undefined
}

export interface NamedStartRow {
  readonly id: string
  readonly created: boolean
  readonly state: State
}

/** Starts a run of a workflow that this process has no definition of. */
export async function startNamed(database: Database, start: NamedStart): Promise<NamedStartRow | undefined> {
  const { workflow, input, key, group, dueAt, priority, id, metadata, maxAttempts, delayMs } = start
  const delay = delayMs === undefined ? undefined : `${delayMs} ms`
  const values = [workflow, input, key, group, dueAt, priority, id, metadata, maxAttempts, delay]
  const [row] = await database.call<NamedStartRow>(
    'start',
    values.map((value) => value ?? null),
  )
  return row
}

interface ClaimRow {
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
}

/** `isRepeated`: the reply to the same claim was lost, so what this worker already has of it is its own. */
export async function claimRuns(
  database: Database,
  workerId: string,
  items: readonly { id: string; lease_ms: number }[],
  isRepeated: boolean,
): Promise<Claim[]> {
  const rows = await database.call<ClaimRow>('claim_runs', [workerId, idsOf(items), JSON.stringify(items), isRepeated])
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
  readonly is_once: boolean | undefined
}

/** `isOnce`: a memo that is there already was not made by this call, even if it looks the same. */
export function keepItem({ id, token }: Pick<Claim, 'id' | 'token'>, memo: NewMemo, isOnce?: boolean): KeepItem {
  const { key, kind, value, types, seq, ordinal, tries, durationMs, args } = memo
  return { id, token, key, kind, value, types, seq, ordinal, tries, duration_ms: durationMs, args, is_once: isOnce }
}

/** As an array literal of uuids, which needs no quotes. */
function idsOf(items: readonly { readonly id: string }[]): string {
  return `{${items.map((item) => item.id).join(',')}}`
}

export interface KeepProblem {
  readonly n: number
  readonly lost: LeaseLostReason | null
  readonly kind: MemoKind | null
  readonly value: string | null
  readonly types: string | null
}

export async function keepSteps(
  database: Database,
  items: readonly KeepItem[],
  on?: Queryable,
): Promise<readonly KeepProblem[]> {
  const values = [idsOf(items), JSON.stringify(items)]
  return on
    ? await database.callOn<KeepProblem>(on, 'keep_steps', values)
    : await database.call<KeepProblem>('keep_steps', values)
}

/** Throws LeaseLostError if the claim is lost; else it is what was stored before. */
export function storedOrLost(claim: Claim, { lost, kind, value, types }: KeepProblem): StoredOutcome {
  if (lost) throw new LeaseLostError(`The lease on run ${claim.id} was lost (${lost}).`, lost)
  return { kind: kind ?? 'answer', value: value ?? 'null', types }
}

export interface SettleItem {
  readonly id: string
  readonly token: number
  readonly outcome: string
  readonly delay_ms?: number | undefined
  readonly output?: string | undefined
  readonly output_types?: string | null | undefined
  readonly failure?: string | undefined
  readonly reason?: string | undefined
  readonly error?: unknown
  readonly recalled: number
  readonly memos?: readonly object[] | undefined
  readonly tries?: readonly object[] | undefined
}

export async function settleRuns(
  database: Database,
  workerId: string,
  items: readonly SettleItem[],
): Promise<readonly { n: number; lost: LeaseLostReason }[]> {
  return await database.call('settle_runs', [workerId, idsOf(items), JSON.stringify(items)])
}

export interface LeaseItem {
  readonly id: string
  readonly token: number
  readonly lease_ms: number
}

export interface LeaseProblem {
  readonly id: string
  readonly token: number
  readonly problem: LeaseLostReason | 'skipped'
}

export async function keepProgress(
  database: Database,
  items: readonly { id: string; token: number; value: string; types: string | null }[],
): Promise<void> {
  await database.call('keep_progress', [JSON.stringify(items)])
}

export interface DefinitionItem {
  readonly workflow: string
  readonly fingerprint: string
  readonly policy: object
}

export async function seeDefinitions(database: Database, items: readonly DefinitionItem[]): Promise<void> {
  await database.call('see_definitions', [JSON.stringify(items)])
}

export async function returnTickets(database: Database, ids: readonly string[]): Promise<void> {
  await database.call('return_tickets', [ids])
}

export async function promoteDue(
  database: Database,
  limit: number,
): Promise<{ promoted: number; next_ms: number | null }> {
  const [row] = await database.call<{ promoted: number; next_ms: number | null }>('promote_due', [limit])
  return row ?? { promoted: 0, next_ms: null }
}

export async function buryWorkers(database: Database, self: string): Promise<{ dead: number; suspected: number }> {
  const [row] = await database.call<{ dead: number; suspected: number }>('bury_workers', [self])
  return row ?? { dead: 0, suspected: 0 }
}

/** The sweep's passes that take a limit and answer how many rows they changed. */
export type SweepPass = 'end_leases' | 'fail_overdue' | 'reissue_tickets'

export async function sweepPass(database: Database, pass: SweepPass, limit: number): Promise<number> {
  const [row] = await database.call<Record<string, number>>(pass, [limit])
  return row?.[pass] ?? 0
}
