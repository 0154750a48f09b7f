import { cancelOptions, resultOptions, retryOptions, startManyOptions, watchOptions } from './call-options.ts'
import { clientOptions } from './client-options.ts'
import { nackOptions, reserveOptions } from './hand-options.ts'
import { listFilter } from './list-filter.ts'
import { sendOptions, unparkOptions } from './message-options.ts'
import type { AnyOptionTable } from './option.ts'
import { startOptions } from './start-options.ts'
import { workerOptions } from './worker-options.ts'
import { workflowOptions } from './workflow-options.ts'

type Call =
  | ('defineWorkflow' | 'createClient' | 'createWorker')
  | (
      | 'start'
      | 'startMany'
      | 'list'
      | 'watch'
      | 'result'
      | 'signal'
      | 'unpark'
      | 'cancel'
      | 'retry'
      | 'reserve'
      | 'nack'
    )

/** Every option table, by the function that takes it: what the docs, the command line's help and tests go through. */
export const optionTables: Readonly<Record<Call, AnyOptionTable>> = {
  defineWorkflow: workflowOptions,
  createClient: clientOptions,
  createWorker: workerOptions,
  start: startOptions,
  startMany: startManyOptions,
  list: listFilter,
  watch: watchOptions,
  result: resultOptions,
  signal: sendOptions,
  unpark: unparkOptions,
  cancel: cancelOptions,
  retry: retryOptions,
  reserve: reserveOptions,
  nack: nackOptions,
}
