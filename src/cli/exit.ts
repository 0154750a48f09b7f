import { CommanderError } from 'commander'
import { HoldfastError, type ErrorCode } from '../model/errors.ts'

/** 0: as asked. 1: something was found, or failed. 2: wrong usage. 3: the database. docs/cli.md lists them. */
export type ExitCode = 0 | 1 | 2 | 3

const usage: ReadonlySet<ErrorCode> = new Set([
  'CONFIG',
  'ARGUMENT',
  'DURATION',
  'INVALID_INPUT',
  'UNSERIALIZABLE',
  'PAYLOAD_TOO_LARGE',
])

const database: ReadonlySet<ErrorCode> = new Set([
  'DATABASE_UNREACHABLE',
  'DATABASE_VERSION',
  'DATABASE_PERMISSION',
  'DATABASE_ISOLATION',
  'SCHEMA_MISSING',
  'SCHEMA_NEWER',
  'SCHEMA_CHANGED',
])

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (!(error instanceof HoldfastError)) return 1
  if (usage.has(error.code)) return 2
  return database.has(error.code) ? 3 : 1
}

/** Says what is wrong on stderr, without a stack where the message says it all, and ends the process. */
export function exitWith(error: unknown): never {
  if (error instanceof HoldfastError) console.error(`error: ${error.message} [${error.code}]`)
  else if (!(error instanceof CommanderError)) console.error(error)
  process.exit(exitCodeOf(error))
}
