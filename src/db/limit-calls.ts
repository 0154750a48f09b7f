import type { Database } from './database.ts'
import type { DefinitionItem } from './calls.ts'

/** The typed calls about limits: to look at them, to change them, and to see that they were kept. */

/** Limits to set, by the names they have in a policy; null: no cap. */
export interface SetLimits {
  readonly concurrency?: number | null
  readonly concurrencyPerGroup?: number | null
  readonly rate?: { readonly limit: number; readonly perMs: number } | null
  readonly ratePerGroup?: { readonly limit: number; readonly perMs: number } | null
  readonly isFair?: boolean
}

/** JSON of a run's state and what holds it back; undefined: there is no such run. */
export async function whyRun(database: Database, id: string): Promise<string | undefined> {
  const [row] = await database.call<{ why_run: string | null }>('why_run', [id])
  return row?.why_run ?? undefined
}

/** JSON of the limits of a workflow, or of all that have any. */
export async function showLimits(database: Database, workflow: string | undefined): Promise<string> {
  const [row] = await database.call<{ show_limits: string }>('show_limits', [workflow ?? null])
  return row?.show_limits ?? '[]'
}

export async function setLimits(database: Database, workflow: string, limits: SetLimits, by: string): Promise<void> {
  await database.call('set_limits', [workflow, JSON.stringify(limits), by])
}

/** `names` undefined: all that were set. */
export async function unsetLimits(
  database: Database,
  workflow: string,
  names: readonly string[] | undefined,
  by: string,
): Promise<void> {
  await database.call('unset_limits', [workflow, names ?? null, by])
}

export async function pauseWorkflow(
  database: Database,
  workflow: string,
  by: string,
  reason: string | undefined,
): Promise<void> {
  await database.call('pause_workflow', [workflow, by, reason ?? null])
}

/** Answers whether it was paused. */
export async function resumeWorkflow(database: Database, workflow: string): Promise<boolean> {
  const [row] = await database.call<{ resume_workflow: boolean }>('resume_workflow', [workflow])
  return row?.resume_workflow ?? false
}

/** Answers the workflows whose limits are others now. */
export async function applyDefinitions(
  database: Database,
  items: readonly DefinitionItem[],
): Promise<readonly string[]> {
  const [row] = await database.call<{ apply_definitions: string[] }>('apply_definitions', [JSON.stringify(items)])
  return row?.apply_definitions ?? []
}

/** JSON of what the record covers and of what broke a limit there: since then, or of the last milliseconds. */
export async function auditLimits(
  database: Database,
  { since, lastMs }: { readonly since?: string; readonly lastMs?: number },
): Promise<string> {
  const [row] = await database.call<{ audit_limits: string }>('audit_limits', [since ?? null, lastMs ?? null])
  return row?.audit_limits ?? '{}'
}
