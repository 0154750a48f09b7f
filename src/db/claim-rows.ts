import { noPast, type Claim, type Past } from '../model/claim.ts'
import type { Memo, PendingTry } from '../model/journal.ts'

/** Claims as the database answers them. */

export interface ClaimRow {
  readonly id: string
  /** Null: it was not claimed, and is to be asked for in the other way, for limited runs or for unlimited ones. */
  readonly token: number | null
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
  readonly is_limited: boolean
  readonly rare: string | null
  readonly waited_ms: number
  readonly age_ms: number
  readonly past: string | null
}

/** What `past` holds. */
interface PastRow {
  readonly traceparent: string | null
  readonly tracestate: string | null
  readonly root: string | null
  readonly isChild: boolean
  readonly previous: string | null
  readonly restedMs: number | null
  readonly asideMs: number | null
  readonly asideFor: 'concurrency' | 'rate' | 'pause' | null
}

/** What few runs have. */
interface Rarities {
  readonly retries: number
  readonly undoes: string | null
  readonly undone: readonly Memo[] | null
}

/** What a call claimed, and the runs that it left to the other of `claim_runs` and `claim_lines`. */
export interface Claimed {
  readonly claims: readonly Claim[]
  readonly others: readonly string[]
}

export function readClaims(rows: readonly ClaimRow[]): Claimed {
  const claims: Claim[] = []
  const others: string[] = []
  for (const row of rows) {
    if (row.token === null) others.push(row.id)
    else claims.push(toClaim(row, row.token))
  }
  return { claims, others }
}

function toClaim(row: ClaimRow, token: number): Claim {
  const rare = row.rare === null ? undefined : (JSON.parse(row.rare) as Rarities)
  return {
    id: row.id,
    token,
    workflow: row.workflow,
    key: row.key ?? undefined,
    group: row.group_key ?? undefined,
    isLimited: row.is_limited,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    deadlineMs: row.deadline_ms ?? undefined,
    input: { json: row.input ?? 'null', types: row.input_types },
    memos: row.memos === null ? [] : (JSON.parse(row.memos) as Memo[]),
    leaseUntil: new Date(row.lease_until_ms),
    tries: row.tries === null ? [] : (JSON.parse(row.tries) as PendingTry[]),
    retries: rare?.retries ?? 0,
    undone: rare?.undoes ? { id: rare.undoes, memos: rare.undone ?? [] } : undefined,
    past: toPast(row),
  }
}

function toPast({ waited_ms: waitedMs, age_ms: ageMs, past }: ClaimRow): Past {
  if (past === null) return { ...noPast, waitedMs, ageMs }
  const row = JSON.parse(past) as PastRow
  return {
    waitedMs: Math.min(waitedMs, row.restedMs ?? Infinity),
    ageMs,
    aside: row.asideMs === null || row.asideFor === null ? undefined : { ms: row.asideMs, for: row.asideFor },
    traceparent: row.traceparent ?? undefined,
    tracestate: row.tracestate ?? undefined,
    previous: row.previous ?? undefined,
    root: row.root ?? undefined,
    isChild: row.isChild,
  }
}
