import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Answer } from '../model/directive.ts'
import type { In, Parsed, Schema } from '../model/schema.ts'
import type { Workflow } from '../model/workflow.ts'
import { parseWorkflowOptions } from './parse-workflow-options.ts'
import type { WorkflowOptions } from './workflow-options.ts'

/**
 * Defines a workflow: its name, its handler and the policy of its runs. Only `name` and `handler` are required.
 * Throws ConfigError, or DurationError for a duration that cannot be read.
 */
export function defineWorkflow<
  const N extends string,
  IS extends Schema | undefined = undefined,
  OS extends Schema | undefined = undefined,
  R = unknown,
>(
  options: WorkflowOptions<N, IS, OS, R>,
): Workflow<In<IS>, Parsed<IS>, OS extends Schema ? StandardSchemaV1.InferOutput<OS> : Answer<R>, N> {
  const definition = parseWorkflowOptions(options)
  return Object.freeze({ name: definition.name as N, definition })
}

/** Whether a value is what `defineWorkflow` returned, be it that of another copy of this package. */
export function isWorkflow(value: unknown): value is Workflow {
  if (typeof value !== 'object' || value === null) return false
  const { name, definition } = value as Partial<Workflow>
  return typeof name === 'string' && definition?.name === name && typeof definition.fingerprint === 'string'
}
