import type { Claim } from '../model/claim.ts'
import type { LeaseLostError, LeaseLostReason } from '../model/errors.ts'
import type { MemoKind, NewWait, WaitAnswer } from '../model/journal.ts'
import type { Queryable } from '../model/run.ts'
import type { StartItem, StartRow } from '../model/start-item.ts'
import { lostLease } from './claim-calls.ts'
import type { Database } from './database.ts'

/** The calls that open waits and end them, many runs' in one. Names are those of sql/functions. */

export interface WaitItem {
  readonly id: string
  readonly token: number
  readonly key: string
  readonly kind: NewWait['kind']
  readonly name: string | undefined
  readonly delay_ms: number | undefined
  readonly until: string | undefined
  readonly reason: string | undefined
  readonly child: StartItem | undefined
  readonly ordinal: number
  readonly seq: number
}

interface WaitRow {
  readonly n: number
  readonly lost: LeaseLostReason | null
  readonly kind: MemoKind | null
  readonly value: string | null
  readonly types: string | null
  readonly wait_ms: number | null
  readonly child: string | null
}

export function waitItem({ id, token }: Pick<Claim, 'id' | 'token'>, wait: NewWait): WaitItem {
  const { key, kind, name, delayMs, until, reason, child, ordinal, seq } = wait
  return {
    id,
    token,
    key,
    kind,
    name,
    delay_ms: delayMs,
    until: until?.toISOString(),
    reason,
    child: child?.item,
    ordinal,
    seq,
  }
}

export async function openWaits(
  database: Database,
  items: readonly WaitItem[],
): Promise<readonly (WaitAnswer | LeaseLostError)[]> {
  const rows = await database.call<WaitRow>('open_waits', [JSON.stringify(items)])
  const answers: (WaitAnswer | LeaseLostError)[] = []
  for (const row of rows) answers[row.n - 1] = answerOf(items[row.n - 1]!, row)
  return answers
}

function answerOf(item: WaitItem, row: WaitRow): WaitAnswer | LeaseLostError {
  if (row.lost) return lostLease(item.id, row.lost)
  if (row.kind) return { kind: 'ended', outcome: { kind: row.kind, value: row.value ?? 'null', types: row.types } }
  // A child that was started as asked has a wait now, or a memo.
  const isRefused = row.child !== null && !isGood(JSON.parse(row.child) as StartRow, item)
  if (isRefused) return { kind: 'refused', row: JSON.parse(row.child) as StartRow }
  return { kind: 'open', waitMs: row.wait_ms ?? undefined }
}

function isGood(row: StartRow, { child }: WaitItem): boolean {
  return row.id !== null && row.is_same_workflow && (row.is_same_input || child?.allow_different_input === true)
}

export interface SignalItem {
  readonly id: string
  readonly run: string | undefined
  readonly workflow: string | undefined
  readonly key: string | undefined
  readonly name: string
  readonly payload: string
  readonly types: string | null
  readonly by: string | undefined
}

export interface SignalRow {
  readonly n: number
  readonly outcome: 'sent' | 'ended'
}

export async function sendSignals(
  database: Database,
  items: readonly SignalItem[],
  on?: Queryable,
): Promise<readonly SignalRow[]> {
  const values = [JSON.stringify(items)]
  const rows = on
    ? await database.callAsText<SignalRow>(on, 'send_signals', values, ['json'])
    : await database.call<SignalRow>('send_signals', values)
  return rows.toSorted((a, b) => a.n - b.n)
}

export interface Unparked {
  readonly outcome: 'answered' | 'answered_before' | 'not_parked' | 'ambiguous' | 'not_found'
  /** What the run is parked at. */
  readonly steps: readonly string[]
}

export async function unparkRun(
  database: Database,
  run: string,
  step: string | undefined,
  answer: { readonly json: string; readonly types: string | null },
  by: string | undefined,
): Promise<Unparked> {
  const values = [run, step ?? null, answer.json, answer.types, by ?? null]
  const [row] = await database.call<Pick<Unparked, 'outcome'> & { readonly steps: string }>('unpark_run', values)
  return row ? { outcome: row.outcome, steps: JSON.parse(row.steps) as string[] } : { outcome: 'not_found', steps: [] }
}

export async function listParked(database: Database, workflow: string | undefined, limit: number): Promise<string[]> {
  const rows = await database.call<{ readonly list_parked: string }>('list_parked', [workflow ?? null, limit])
  return rows.map((row) => row.list_parked)
}
