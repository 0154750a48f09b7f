import { z } from 'zod'
import type { Duration } from '../model/policy.ts'
import type { Workflow } from '../model/workflow.ts'
import { duration, flag, having, whole } from './checks.ts'
import { connectionOptions } from './client-options.ts'
import type { ConnectionOptions, PoolLike, ReadConnectionOptions } from './client-options.ts'
import type { OptionTable } from './option.ts'
import { createRegistry } from './registry.ts'
import type { Registry } from './registry.ts'

/** What `createWorker` takes. `Client` is what `createClient` returns, which this room does not know. */
export interface WorkerOptions<Client = object, Pool = PoolLike> extends ConnectionOptions<Pool> {
  /** The workflows this worker runs; it claims no others. */
  workflows: readonly Workflow[]
  /** A client whose connection to share; then not `connectionString`, `pool`, `schema` or `migrate`. Default: none. */
  client?: Client | undefined
  /** Slots: how many claims it runs at once. Default: 16. */
  concurrency?: number | undefined
  /** How long `stop` lets running handlers finish before it aborts them. Default: 20s. */
  grace?: Duration | undefined
  /** Whether SIGTERM and SIGINT stop the worker. Default: false. */
  handleSignals?: boolean | undefined
}

/** Each option once read: durations are milliseconds. */
export interface ReadWorkerOptions extends ReadConnectionOptions {
  readonly workflows: Registry
  readonly client: object | undefined
  readonly concurrency: number
  readonly grace: number
  readonly handleSignals: boolean
}

export const workerOptions: OptionTable<WorkerOptions, ReadWorkerOptions> = {
  workflows: {
    type: 'Workflow[]',
    isRequired: true,
    check: () => z.unknown().transform((value) => createRegistry(value as readonly Workflow[])),
    doc: 'The workflows this worker runs; it claims no others.',
  },
  client: {
    type: 'Client',
    check: having(['start', 'close'], 'what createClient returned'),
    doc: 'A client whose connection to share; then not `connectionString`, `pool`, `schema` or `migrate`.',
  },
  ...connectionOptions,
  concurrency: {
    type: 'number',
    unit: 'slots',
    default: 16,
    check: whole(1),
    doc: 'Slots: how many claims it runs at once.',
  },
  grace: {
    type: 'Duration',
    unit: 'ms',
    default: '20s',
    check: duration(),
    doc: 'How long `stop` lets running handlers finish before it aborts them.',
  },
  handleSignals: {
    type: 'boolean',
    default: false,
    check: flag(),
    doc: 'Whether SIGTERM and SIGINT stop the worker.',
  },
}
