import type { Database } from './database.ts'

/** The calls of sql/testing, which only a database of `holdfast/testing` has. Instants count from 1970. */

export interface Moved {
  /** As the database writes it. */
  readonly at: string
  readonly atMs: number
  readonly aheadMs: number
}

/** Moves time on to `untilMs`, never back. Undefined: only tells it. */
export async function moveTime(database: Database, untilMs?: number): Promise<Moved> {
  const [row] = await database.call<{ at: string; at_ms: number; ahead_ms: number }>('test_move', [untilMs ?? null])
  const { at = '', at_ms: atMs = 0, ahead_ms: aheadMs = 0 } = row ?? {}
  return { at, atMs, aheadMs }
}

export interface Glance {
  /** Something runs, or could go on now. */
  readonly isBusy: boolean
  /** When the next run is due, or the rate that one waits for lets it begin. */
  readonly dueMs: number | null
  /** The same, or when an earlier deadline or lease is over. */
  readonly nextMs: number | null
}

export async function lookAround(database: Database, workflows: readonly string[]): Promise<Glance> {
  const [row] = await database.call<{ is_busy: boolean; due_ms: number | null; next_ms: number | null }>('test_look', [
    workflows,
  ])
  const { is_busy: isBusy = false, due_ms: dueMs = null, next_ms: nextMs = null } = row ?? {}
  return { isBusy, dueMs, nextMs }
}

export interface Next {
  /** The run that goes on, and its workflow; or one that is parked at `step`. Undefined: there is none. */
  readonly id: string | undefined
  readonly workflow: string
  readonly step: string | undefined
  /** The family's first run has ended, and no other goes on in its place. */
  readonly isOver: boolean
  readonly atMs: number
  readonly aheadMs: number
}

interface NextRow {
  readonly id: string | null
  readonly workflow: string | null
  readonly step: string | null
  readonly is_over: boolean
  readonly at_ms: number
  readonly ahead_ms: number
}

/** What goes on next in the family of a run, whose claims so far are those of dead processes: sql/testing/crash-test.sql. */
export async function nextOf(
  database: Database,
  root: string,
  answered: readonly string[],
  untilMs: number | undefined,
): Promise<Next | undefined> {
  const [row] = await database.call<NextRow>('test_next', [root, answered, untilMs ?? null])
  return (
    row && {
      id: row.id ?? undefined,
      workflow: row.workflow ?? '',
      step: row.step ?? undefined,
      isOver: row.is_over,
      atMs: row.at_ms,
      aheadMs: row.ahead_ms,
    }
  )
}
