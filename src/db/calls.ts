import type { LeaseLostReason } from '../model/errors.ts'
import type { Queryable } from '../model/run.ts'
import type { StartItem, StartRow } from '../model/start-item.ts'
import type { State } from '../model/state.ts'
import type { Database } from './database.ts'

/** One typed call for each SQL function. Names and meaning are those of sql/functions. claim-calls.ts and settle-calls.ts have those of
 * a claim. */

export async function startRuns(
  database: Database,
  items: readonly StartItem[],
  on?: Queryable,
): Promise<readonly StartRow[]> {
  const values = [JSON.stringify(items)]
  const rows = on
    ? await database.callAsText<StartRow>(on, 'start_runs', values, ['json'])
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
  readonly allowDifferentInput: boolean
}

export interface NamedStartRow {
  readonly id: string
  readonly created: boolean
  readonly state: State
}

/** Starts a run of a workflow that this process has no definition of. */
export async function startNamed(database: Database, start: NamedStart): Promise<NamedStartRow | undefined> {
  const { workflow, input, key, group, dueAt, priority, id, metadata, maxAttempts, delayMs, allowDifferentInput } =
    start
  const delay = delayMs === undefined ? undefined : `${delayMs} ms`
  const values = [workflow, input, key, group, dueAt, priority, id, metadata, maxAttempts, delay, allowDifferentInput]
  const [row] = await database.call<NamedStartRow>(
    'start',
    values.map((value) => value ?? null),
  )
  return row
}

export interface LeaseItem {
  readonly id: string
  readonly token: number
  readonly lease_ms: number
}

export interface LeaseRenewal {
  readonly id: string
  readonly token: number
  /** Null: it was renewed. `stray`: a claim that was not asked about and is this worker's all the same. */
  readonly problem: LeaseLostReason | 'skipped' | 'stray' | null
  /** The new end, in milliseconds since 1970 by the database's clock. */
  readonly lease_until_ms: number | null
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

/** A definition whose limits are not those in force. */
export interface Differing {
  readonly workflow: string
  /** The limits that are, as JSON. */
  readonly in_force: string
  /** An operator has set some of them. */
  readonly is_set: boolean
}

export async function seeDefinitions(
  database: Database,
  items: readonly DefinitionItem[],
): Promise<readonly Differing[]> {
  return await database.call<Differing>('see_definitions', [JSON.stringify(items)])
}

export async function promoteDue(
  database: Database,
  limit: number,
): Promise<{ promoted: number; next_ms: number | null }> {
  const [row] = await database.call<{ promoted: number; next_ms: number | null }>('promote_due', [limit])
  return row ?? { promoted: 0, next_ms: null }
}

export interface Burial {
  readonly dead: number
  readonly suspected: number
  /** The database's time, as it writes it. */
  readonly at: string
  /** Some have not come back yet since the server was started. */
  readonly is_missing: boolean
}

export async function buryWorkers(database: Database, self: string, until: string | undefined): Promise<Burial> {
  const [row] = await database.call<Burial>('bury_workers', [self, until ?? null])
  return row as Burial
}

/** The sweep's passes, with what each takes beside a limit. They answer how many rows they changed. */
export interface SweepPasses {
  readonly end_leases: [until: string]
  readonly fail_overdue: []
  readonly prune_runs: []
  readonly reissue_tickets: []
  readonly mend_lines: []
  readonly mend_signals: []
}

export async function sweepPass<Pass extends keyof SweepPasses>(
  database: Database,
  pass: Pass,
  limit: number,
  ...rest: SweepPasses[Pass]
): Promise<number> {
  const [row] = await database.call<Record<string, number>>(pass, [limit, ...rest])
  return row?.[pass] ?? 0
}
