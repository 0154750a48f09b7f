import type { Logger } from '../model/logger.ts'
import { propagations, type Propagation } from '../model/propagation.ts'
import type { Queryable } from '../model/run.ts'
import { z } from 'zod'
import { custom, having, isShortText, oneOf, shape } from './checks.ts'
import type { OptionTable } from './option.ts'

/** What the caller's own pool must do; a pg Pool does. */
export interface PoolLike extends Queryable {
  connect(): Promise<Queryable & { release(destroy?: boolean | Error): void }>
}

const migrateModes = ['auto', 'verify', 'off'] as const

/** `auto` brings the schema up to date, `verify` refuses one that is not, `off` does not look. */
export type MigrateMode = (typeof migrateModes)[number]

/** How to reach the database; what `createClient` and `createWorker` share. */
export interface ConnectionOptions<Pool = PoolLike> {
  /** Where the database is: `postgres://user:password@host/database`. Not together with `pool`. Default: none. */
  connectionString?: string | undefined
  /**
   * A pg Pool of your own, which stays yours to end. Not together with `connectionString`. Default: one of its own
   * with 10 connections.
   */
  pool?: Pool | undefined
  /** The Postgres schema that holds everything; the queue's is the same with `_queue` after it. Default: holdfast. */
  schema?: string | undefined
  /**
   * Whether to bring the schema up to date (`auto`), refuse one that is not (`verify`) or not look (`off`). Default:
   * auto.
   */
  migrate?: MigrateMode | undefined
  /** What log lines are written to; pino and console fit as they are. Default: none. */
  logger?: Logger | undefined
  /** How spans are tied together, and what they may say. Default: { propagation: 'link', runKey: false, groupKey: false }. */
  tracing?: TracingOptions | undefined
  /** Where spans go. Default: the process's own OpenTelemetry provider, if there is one. */
  tracerProvider?: TracerProviderLike | undefined
  /** Where metrics go. Default: the process's own OpenTelemetry provider, if there is one. */
  meterProvider?: MeterProviderLike | undefined
}

/** An OpenTelemetry TracerProvider. */
export interface TracerProviderLike {
  // oxlint-disable-next-line typescript/no-explicit-any -- of any version of the API
  getTracer(name: string, version?: string, options?: any): object
}

/** An OpenTelemetry MeterProvider. */
export interface MeterProviderLike {
  // oxlint-disable-next-line typescript/no-explicit-any -- of any version of the API
  getMeter(name: string, version?: string, options?: any): object
}

/** How spans are tied together, and what they may say. */
export interface TracingOptions {
  /**
   * How a claim's span is tied to the one that started its run: by a `link`, so that each claim is a trace of its own; as
   * its `child`, so that all are one trace; or `none`. Default: link.
   */
  propagation?: Propagation | undefined
  /** Whether spans bear the keys of runs. Default: false. */
  runKey?: boolean | undefined
  /** Whether spans bear the groups of runs. Default: false. */
  groupKey?: boolean | undefined
}

interface ReadTracing {
  readonly propagation: Propagation
  readonly runKey: boolean
  readonly groupKey: boolean
}

/** What `createClient` takes. */
export interface ClientOptions<Pool = PoolLike> extends ConnectionOptions<Pool> {
  /**
   * The address of a trace in your viewer, with `{traceId}` and, if it likes, `{spanId}` in it: `get` then gives each
   * claim's. Default: none.
   */
  traceUrl?: string | undefined
}

/** Each option once read. */
export interface ReadConnectionOptions {
  readonly connectionString: string | undefined
  readonly pool: PoolLike | undefined
  readonly schema: string
  readonly migrate: MigrateMode
  readonly logger: Logger | undefined
  readonly tracing: ReadTracing
  readonly tracerProvider: TracerProviderLike | undefined
  readonly meterProvider: MeterProviderLike | undefined
}

export interface ReadClientOptions extends ReadConnectionOptions {
  readonly traceUrl: string | undefined
}

// Postgres cuts identifiers at 63 bytes, and the queue's schema has '_queue' after this one's name.
const longestSchema = 63 - '_queue'.length

export const connectionOptions: OptionTable<ConnectionOptions, ReadConnectionOptions> = {
  connectionString: {
    type: 'string',
    check: custom(
      (value) => isShortText(value, 4096),
      'the address of your database, such as postgres://user:password@host/database',
    ),
    doc: 'Where the database is: `postgres://user:password@host/database`. Not together with `pool`.',
  },
  pool: {
    type: 'pg.Pool',
    defaultNote: 'one of its own with 10 connections',
    check: having(['query', 'connect'], 'a pg Pool'),
    doc: 'A pg Pool of your own, which stays yours to end. Not together with `connectionString`.',
  },
  schema: {
    type: 'string',
    default: 'holdfast',
    check: custom(
      isSchemaName,
      `the name of a Postgres schema: 1 to ${longestSchema} bytes without U+0000, not beginning with pg_`,
    ),
    doc: "The Postgres schema that holds everything; the queue's is the same with `_queue` after it.",
  },
  migrate: {
    type: migrateModes.map((mode) => `'${mode}'`).join(' | '),
    default: 'auto',
    check: oneOf(migrateModes),
    doc: 'Whether to bring the schema up to date (`auto`), refuse one that is not (`verify`) or not look (`off`).',
  },
  logger: {
    type: 'Logger',
    check: having(['debug', 'info', 'warn', 'error'], 'a logger with debug, info, warn and error'),
    doc: 'What log lines are written to; pino and console fit as they are.',
  },
  tracing: {
    type: 'TracingOptions',
    default: { propagation: 'link', runKey: false, groupKey: false },
    check: () =>
      shape(
        {
          propagation: z.enum(propagations, `one of ${propagations.join(', ')}`).default('link'),
          runKey: z.boolean('true or false').default(false),
          groupKey: z.boolean('true or false').default(false),
        },
        "an object such as { propagation: 'child' }",
      ),
    doc: 'How spans are tied together, and what they may say.',
  },
  tracerProvider: {
    type: 'TracerProvider',
    defaultNote: "the process's own OpenTelemetry provider, if there is one",
    check: having(['getTracer'], 'an OpenTelemetry TracerProvider'),
    doc: 'Where spans go.',
  },
  meterProvider: {
    type: 'MeterProvider',
    defaultNote: "the process's own OpenTelemetry provider, if there is one",
    check: having(['getMeter'], 'an OpenTelemetry MeterProvider'),
    doc: 'Where metrics go.',
  },
}

export const clientOptions: OptionTable<ClientOptions, ReadClientOptions> = {
  ...connectionOptions,
  traceUrl: {
    type: 'string',
    check: custom(
      (value) => isShortText(value, 4096) && value.includes('{traceId}'),
      'an address with {traceId} in it, such as https://traces.example/trace/{traceId}',
    ),
    doc: "The address of a trace in your viewer, with `{traceId}` and, if it likes, `{spanId}` in it: `get` then gives each claim's.",
  },
}

function isSchemaName(value: unknown): boolean {
  return isShortText(value, longestSchema) && Buffer.byteLength(value) <= longestSchema && !value.startsWith('pg_')
}
