import type { State } from '../model/state.ts'
import type { Database } from './database.ts'

/** The typed calls that look at runs, or steer them from outside. Runs come as JSON, whatever the session's settings. */

export async function findRun(
  database: Database,
  which: { id?: string | undefined; workflow?: string | undefined; key?: string | undefined },
): Promise<string | undefined> {
  const [row] = await database.call<{ run: string }>('find_run', [
    which.id ?? null,
    which.workflow ?? null,
    which.key ?? null,
  ])
  return row?.run
}

/** Of the given runs, those that have ended or are not there. */
export async function endedRuns(database: Database, ids: readonly string[]): Promise<string[]> {
  const rows = await database.call<{ id: string }>('ended_runs', [ids])
  return rows.map((row) => row.id)
}

export async function listRuns(
  database: Database,
  filter: { workflow: string | undefined; state: State | undefined; limit: number },
): Promise<string[]> {
  const rows = await database.call<{ run: string }>('list_runs', [
    filter.workflow ?? null,
    filter.state ?? null,
    filter.limit,
  ])
  return rows.map((row) => row.run)
}

export async function cancelRun(database: Database, id: string, reason: string | undefined): Promise<boolean> {
  const [row] = await database.call<{ is_cancelled: boolean }>('cancel_runs', [[id], reason ?? null])
  return row !== undefined
}

export type RetryResult = 'retried' | 'key_taken' | 'not_ended'

export async function retryRun(database: Database, id: string): Promise<RetryResult | undefined> {
  const [row] = await database.call<{ outcome: RetryResult }>('retry_runs', [[id]])
  return row?.outcome
}
