import { ConfigError } from '../model/errors.ts'
import { createOptionReader } from './option-reader.ts'
import { refuseTwoConnections } from './parse-client-options.ts'
import { workerOptions } from './worker-options.ts'
import type { ReadWorkerOptions, WorkerOptions } from './worker-options.ts'

/** Worker options with defaults filled in. */
export interface ResolvedWorkerOptions<Client> extends Omit<ReadWorkerOptions, 'grace' | 'client'> {
  readonly client: Client | undefined
  readonly graceMs: number
}

const subject = 'createWorker'
const readOptions = createOptionReader(workerOptions, ConfigError)

/** Throws ConfigError, or DurationError for a `grace` that cannot be read. */
export function parseWorkerOptions<Client extends object>(given: WorkerOptions<Client>): ResolvedWorkerOptions<Client> {
  const { grace: graceMs, client, ...options } = readOptions(given, subject)
  refuseTwoConnections(subject, options)
  if (client !== undefined) refuseConnectionBeside(given)
  return { ...options, client: client as Client | undefined, graceMs }
}

/** A worker with a client uses the client's connection: another one beside it would be silently ignored. */
function refuseConnectionBeside(given: WorkerOptions): void {
  const beside = connection.find((name) => given[name] !== undefined)
  if (beside === undefined) return
  throw new ConfigError(`${subject}: ${beside} and client contradict each other.`, {
    field: beside,
    remedy: `Give ${beside} to createClient, or leave client out.`,
  })
}

const connection = ['connectionString', 'pool', 'schema', 'migrate'] as const
