import type { StartItem } from '../model/start-item.ts'
import type { Database } from './database.ts'

/** The typed calls about schedules: to decide about their instants, to look at them, and to steer them. */

/** Where a schedule stands. Instants are in milliseconds since 1970, by the database's clock. */
export interface Standing {
  readonly workflow: string
  readonly turn: number
  /** The schedule in force, as JSON of a ResolvedSchedule, if it is to be looked at now. */
  readonly spec: string | null
  /** Instants up to there are decided, but for the one queued. */
  readonly past_ms: number
  readonly queued_ms: number | null
  readonly now_ms: number
  /** When it is to be looked at again; null: it is paused. */
  readonly wait_ms: number | null
}

/** What to decide about a schedule that still stands at that turn. Instants are ISO 8601. */
export interface Firing {
  readonly workflow: string
  readonly turn: number
  readonly past_at: string
  readonly next_at: string
  readonly starts: readonly { readonly at: string; readonly item: StartItem }[]
  /** Why the first start after `past_at` could not be made. */
  readonly error: string | undefined
}

/** What came of an instant. */
export interface Fired {
  readonly workflow: string
  readonly at_ms: number
  readonly outcome: 'started' | 'known' | 'queued' | 'skipped' | 'failed'
  readonly run_id: string | null
  /** How often in a row, if it failed. */
  readonly failing_count: number | null
  readonly error: string | null
}

export async function dueSchedules(database: Database, workflows: readonly string[]): Promise<readonly Standing[]> {
  return await database.call<Standing>('due_schedules', [workflows])
}

export async function fireSchedules(database: Database, firings: readonly Firing[]): Promise<readonly Fired[]> {
  return await database.call<Fired>('fire_schedules', [JSON.stringify(firings)])
}

/** JSON of the schedule of a workflow, or of all that have one. */
export async function showSchedules(database: Database, workflow: string | undefined): Promise<string> {
  const [row] = await database.call<{ show_schedules: string }>('show_schedules', [workflow ?? null])
  return row?.show_schedules ?? '[]'
}

export async function pauseSchedule(
  database: Database,
  workflow: string,
  by: string,
  reason: string | undefined,
): Promise<void> {
  await database.call('pause_schedule', [workflow, by, reason ?? null])
}

/** Answers whether it was paused. */
export async function resumeSchedule(database: Database, workflow: string): Promise<boolean> {
  const [row] = await database.call<{ resume_schedule: boolean }>('resume_schedule', [workflow])
  return row?.resume_schedule ?? false
}

/** Starts a run with that id and the schedule's input. */
export async function triggerSchedule(
  database: Database,
  workflow: string,
  id: string,
  group: string | undefined,
  by: string,
): Promise<void> {
  await database.call('trigger_schedule', [workflow, id, group ?? null, by])
}
