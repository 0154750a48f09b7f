import { Client } from './client/client.ts'
import { Database, type Pool } from './db/database.ts'
import { verifySchema, type MigrateResult } from './db/migrate.ts'
import type { ClientOptions as AnyClientOptions, MigrateMode, ReadConnectionOptions } from './define/client-options.ts'
import { parseClientOptions } from './define/parse-client-options.ts'
import { parseWorkerOptions } from './define/parse-worker-options.ts'
import type { WorkerOptions as AnyWorkerOptions } from './define/worker-options.ts'
import { systemClock } from './model/clock.ts'
import type { Logger } from './model/logger.ts'
import type { Duration } from './model/policy.ts'
import { release } from './model/release.ts'
import { migrate as migrateSchema } from './queue/migrate.ts'
import { silentLogger } from './trace/bound-logger.ts'
import { Telemetry } from './trace/telemetry.ts'
import type { TelemetryOptions } from './trace/tracing.ts'
import { stopOnSignals } from './worker/signals.ts'
import { defaultTimings } from './worker/timings.ts'
import { WorkerCore } from './worker/worker.ts'

/** What `createClient` takes: an address or a pg pool, and how to use it. */
export type ClientOptions = AnyClientOptions<Pool>
/** What `createWorker` takes: the workflows, where the database is, and how much to do at once. */
export type WorkerOptions = AnyWorkerOptions<Client, Pool>

/**
 * A client on the database at `connectionString`, or on the pg pool given.
 *
 * @throws ConfigError if neither is given or an option is unknown.
 */
export function createClient(options?: ClientOptions): Client {
  const { migrate: mode, logger, traceUrl, ...rest } = parseClientOptions(options)
  const database = open(rest)
  const prepare = preparation(database, mode)
  const telemetry = telemetryOf(rest, logger)
  return new Client({ database, clock: systemClock, log: logger, telemetry, traceUrl, prepare })
}

/** Runs workflows' runs in this process: it claims those that are due, and keeps their leases while it works. */
export interface Worker {
  /**
   * Brings the schema up to date as `migrate` says, and resolves when the worker takes runs.
   *
   * @throws ClosedError once it was stopped; what `migrate` throws.
   */
  start(): Promise<void>
  /** Drains: see the option `grace`. A second call hurries. */
  stop(options?: { grace?: Duration | undefined }): Promise<void>
  /** Resolves when the worker has stopped. */
  readonly done: Promise<void>
}

/**
 * A worker for the given workflows. It runs nothing before `start`.
 *
 * @throws ConfigError if an option is unknown or wrong, a workflow is there twice, or there is none.
 */
export function createWorker(options: WorkerOptions): Worker {
  const {
    migrate: mode,
    client,
    workflows,
    concurrency,
    graceMs,
    handleSignals,
    logger,
    ...where
  } = parseWorkerOptions<Client>(options)
  const database = client ? Client.databaseOf(client) : open(where)
  const worker = new WorkerCore({
    database,
    registry: workflows,
    concurrency,
    graceMs,
    clock: systemClock,
    log: logger ?? silentLogger,
    timings: defaultTimings,
    telemetry: telemetryOf({ ...where, schema: database.names.schema }, logger),
    prepare: client ? () => Client.prepare(client) : preparation(database, mode),
    release: async () => {
      if (!client) await database.close()
    },
  })
  if (handleSignals) stopOnSignals(worker)
  return worker
}

/**
 * Brings the schema to this release. Safe to call from any number of processes at once.
 *
 * @throws DatabaseVersionError before PostgreSQL 13; DatabasePermissionError; DatabaseUnreachableError;
 *   ConfigError behind a pooler that lends sessions by the transaction.
 * @throws SchemaNewerError if a newer release has broken with this one; SchemaChangedError if a migration was edited.
 */
export async function migrate(options?: Omit<ClientOptions, 'migrate'>): Promise<MigrateResult> {
  const database = open(parseClientOptions(options))
  try {
    return await migrateSchema(database, release)
  } finally {
    await database.close()
  }
}

function open(where: { connectionString: string | undefined; pool: unknown; schema: string }): Database {
  const { connectionString, pool, schema } = where
  return new Database({ connectionString, pool: pool as Pool | undefined, schema, clock: systemClock })
}

function telemetryOf(
  {
    tracing,
    tracerProvider,
    meterProvider,
    schema,
  }: Pick<ReadConnectionOptions, 'tracing' | 'tracerProvider' | 'meterProvider' | 'schema'>,
  log: Logger | undefined,
): Telemetry {
  return new Telemetry({
    ...tracing,
    // Told apart by what it can do, so that any version of the API fits.
    tracerProvider: tracerProvider as TelemetryOptions['tracerProvider'],
    meterProvider: meterProvider as TelemetryOptions['meterProvider'],
    schema,
    log: log ?? silentLogger,
  })
}

function preparation(database: Database, mode: MigrateMode): () => Promise<void> {
  const prepare: Record<MigrateMode, () => Promise<unknown>> = {
    auto: () => migrateSchema(database, release),
    verify: () => verifySchema(database, release),
    off: () => Promise.resolve(),
  }
  return async () => void (await prepare[mode]())
}

export { Client } from './client/client.ts'
export type { Reserved } from './client/by-hand.ts'
export type { Info, WorkerInfo, WorkflowInfo } from './client/info.ts'
export type { Holder, OpenWait, Reason, Why } from './client/why.ts'
export type { Parked } from './client/messenger.ts'
export type { Page } from './client/reader.ts'
export type { StartedOrError, StartManyItem } from './client/start-many.ts'
export type { Which } from './client/which.ts'
export type { ClaimOutcome, ClaimView, Rollback, RunView } from './client/run-view.ts'
export type { Started } from './define/make-start.ts'
export type { RunRef, StartArgs, Startable } from './model/start-item.ts'
export type { MigrateResult } from './db/migrate.ts'
export type {
  CancelOptions,
  ResultOptions,
  RetryOptions,
  StartManyOptions,
  WatchOptions,
} from './define/call-options.ts'
export type { MeterProviderLike, MigrateMode, TracerProviderLike, TracingOptions } from './define/client-options.ts'
export type { NackOptions, ReserveOptions } from './define/hand-options.ts'
export type { SendOptions, UnparkOptions } from './define/message-options.ts'
export type { ListFilter } from './define/list-filter.ts'
export { defineSignal } from './define/define-signal.ts'
export type { SignalOptions } from './define/define-signal.ts'
export { defineWorkflow } from './define/define-workflow.ts'
export type { StartOptions } from './define/start-options.ts'
export type { WorkflowOptions } from './define/workflow-options.ts'
export { Directive } from './model/directive.ts'
export type { Answer, DirectiveKind } from './model/directive.ts'
export * from './model/errors.ts'
export type { LogFields, Logger } from './model/logger.ts'
export type { Duration, ErrorClass, Limits, Rate, RetryPolicy, Schedule } from './model/policy.ts'
export type {
  ChildOptions,
  MapOptions,
  ParkOptions,
  Queryable,
  Run,
  Step,
  StepOptions,
  StepRetry,
  WaitOptions,
} from './model/run.ts'
export type { In, Parsed, Schema } from './model/schema.ts'
export type { Signal } from './model/signal.ts'
export type { State } from './model/state.ts'
export type { OnMismatch, Workflow } from './model/workflow.ts'
