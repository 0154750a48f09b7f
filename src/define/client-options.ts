import type { Logger } from '../model/logger.ts'
import type { Queryable } from '../model/run.ts'
import { custom, having, isShortText, oneOf } from './checks.ts'
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
  /** What log lines are written to; pino, winston and console fit as they are. Default: none. */
  logger?: Logger | undefined
}

/** What `createClient` takes. */
export type ClientOptions<Pool = PoolLike> = ConnectionOptions<Pool>

/** Each option once read. */
export interface ReadConnectionOptions {
  readonly connectionString: string | undefined
  readonly pool: PoolLike | undefined
  readonly schema: string
  readonly migrate: MigrateMode
  readonly logger: Logger | undefined
}

// Postgres cuts identifiers at 63 bytes, and the queue's schema has '_queue' after this one's name.
const longestSchema = 63 - '_queue'.length

export const clientOptions: OptionTable<ClientOptions, ReadConnectionOptions> = {
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
    doc: 'What log lines are written to; pino, winston and console fit as they are.',
  },
}

function isSchemaName(value: unknown): boolean {
  return isShortText(value, longestSchema) && Buffer.byteLength(value) <= longestSchema && !value.startsWith('pg_')
}
