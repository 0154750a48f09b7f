import { clientOptions } from './client-options.ts'
import type { AnyOptionTable } from './option.ts'
import { startOptions } from './start-options.ts'
import { workerOptions } from './worker-options.ts'
import { workflowOptions } from './workflow-options.ts'

/** Every option table, by the function that takes it: what the docs, the command line's help and tests go through. */
export const optionTables: Readonly<
  Record<'defineWorkflow' | 'createClient' | 'createWorker' | 'start', AnyOptionTable>
> = {
  defineWorkflow: workflowOptions,
  createClient: clientOptions,
  createWorker: workerOptions,
  start: startOptions,
}
