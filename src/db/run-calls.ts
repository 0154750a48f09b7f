import type { Queryable } from '../model/run.ts'
import type { State } from '../model/state.ts'
import type { Database } from './database.ts'

/** The typed calls that look at runs, or steer them from outside. Runs come as JSON, whatever the session's settings. */

export interface FoundRun {
  readonly run: string
  readonly revision: string
  /** How many of its line go before it; null unless it waits. */
  readonly ahead: number | null
  /** Its last claims. */
  readonly claims: string
}

export async function findRun(
  database: Database,
  which: { id?: string | undefined; workflow?: string | undefined; key?: string | undefined },
): Promise<FoundRun | undefined> {
  const [row] = await database.call<FoundRun>('find_run', [which.id ?? null, which.workflow ?? null, which.key ?? null])
  return row
}

export interface Look {
  readonly id: string
  /** Another text after each change; null if there is no such run. */
  readonly revision: string | null
  /** It has ended, or is not there. */
  readonly isOver: boolean
  /** The run once it has ended. */
  readonly run: string | null
}

/** `watcher` is told of further changes on its channel. */
export async function lookAtRuns(
  database: Database,
  watcher: string | null,
  ids: readonly string[],
): Promise<readonly Look[]> {
  const rows = await database.call<Omit<Look, 'isOver'> & { is_over: boolean }>('look_at_runs', [watcher, ids])
  return rows.map(({ is_over: isOver, ...look }) => ({ ...look, isOver }))
}

export interface RunFilter {
  readonly workflows?: readonly string[] | undefined
  readonly states?: readonly State[] | undefined
  readonly key_prefix?: string | undefined
  readonly group_key?: string | undefined
  readonly created_after?: string | undefined
  readonly created_before?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** How many runs one call looks at. */
const looks = 10_000
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** `next` is where to go on; undefined: there are no more. A page may be short, or empty, and not the last. */
export async function listRuns(
  database: Database,
  filter: RunFilter,
  before: string | undefined,
  limit: number,
): Promise<{ readonly runs: readonly string[]; readonly next: string | undefined }> {
  const values = [JSON.stringify(filter), before ?? lastId, limit, looks]
  const rows = await database.call<{ run: string | null; next: string | null }>('list_runs', values)
  return { runs: rows.map(({ run }) => run).filter((run) => run !== null), next: rows[0]?.next ?? undefined }
}

export async function cancelRun(database: Database, id: string, reason: string | undefined): Promise<void> {
  await database.call('cancel_runs', [[id], reason ?? null])
}

export async function askCancel(
  database: Database,
  id: string,
  reason: string | undefined,
  on: Queryable,
): Promise<void> {
  await database.callAsText(on, 'ask_cancels', [`{${id}}`, reason ?? null], ['uuid[]', 'text'])
}

export type RetryResult = 'retried' | 'key_taken' | 'expired' | 'undoing' | 'outrun' | 'not_ended'

export async function retryRun(database: Database, id: string, isFresh: boolean): Promise<RetryResult | undefined> {
  const [row] = await database.call<{ outcome: RetryResult }>('retry_runs', [[id], isFresh])
  return row?.outcome
}

export interface Deletion {
  readonly outcome: 'deleted' | 'going' | 'not_ended' | 'too_early'
  readonly wait_ms: number | null
}

export async function deleteRun(database: Database, id: string): Promise<Deletion | undefined> {
  const [row] = await database.call<Deletion>('delete_runs', [[id]])
  return row
}

export async function readInfo(database: Database): Promise<string> {
  const [row] = await database.call<{ info: string }>('info', [])
  return row?.info ?? '{}'
}
