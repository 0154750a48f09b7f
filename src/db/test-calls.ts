import type { Database } from './database.ts'

/** The calls of sql/testing/movable-clock.sql, which only a database of `holdfast/testing` has. Instants count from 1970. */

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

/** Ends the claim of a run as the sweep does when its worker is gone, and gives back the attempt it costs. */
export async function lapse(database: Database, runId: string): Promise<void> {
  await database.call('test_lapse', [runId])
}
