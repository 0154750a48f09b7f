import { seeDefinitions, type DefinitionItem, type Differing } from './calls.ts'
import type { Database } from './database.ts'
import type { Workflow } from '../model/workflow.ts'

/**
 * Puts definitions on record, for starts from SQL, for limits and for whoever looks. Answers those whose limits are not in
 * force.
 */
export async function recordDefinitions(
  database: Database,
  workflows: readonly Workflow[],
): Promise<readonly Differing[]> {
  return await seeDefinitions(database, workflows.map(definitionItem))
}

/** What the database knows of a definition. */
export function definitionItem({ name, definition }: Workflow): DefinitionItem {
  const { retry, limits, group, schedule, fingerprint } = definition
  const { initialMs, factor, maxMs, jitter } = retry
  return {
    workflow: name,
    fingerprint,
    policy: {
      retry: { initialMs, factor, maxMs, jitter },
      maxAttempts: definition.maxAttempts,
      timeoutMs: definition.timeoutMs,
      deadlineMs: definition.deadlineMs,
      leaseMs: definition.leaseMs,
      maxLeaseMs: definition.maxLeaseMs,
      priority: definition.priority,
      keepMs: definition.keepMs,
      keepDoneMs: definition.keepDoneMs,
      dedupeMs: definition.dedupeMs,
      maxWaiting: definition.maxWaiting,
      maxSteps: definition.maxSteps,
      hasGroup: group !== undefined,
      limits,
      schedule,
    },
  }
}
