import { z, type ZodType } from 'zod'
import { ArgumentError } from '../model/errors.ts'
import type { Duration } from '../model/policy.ts'
import type { Queryable } from '../model/run.ts'
import { custom, duration, flag, oneOf, queryable } from './checks.ts'
import { storableText } from '../model/storable.ts'
import type { OptionTable } from './option.ts'
import { createOptionReader } from './option-reader.ts'

/** What the client's calls about runs take, each with its reader. Each reader throws ArgumentError or DurationError. */

/** What `client.watch` takes. */
export interface WatchOptions {
  /** Ends the waiting, which then throws what it was aborted with. The run goes on. Default: none. */
  abortSignal?: AbortSignal | undefined
}

/** What `client.result` takes. */
export interface ResultOptions extends WatchOptions {
  /** How long to wait for the run's end before it is a ResultTimeoutError. Default: none; for ever. */
  timeout?: Duration | undefined
}

/** What `client.cancel` takes. */
export interface CancelOptions {
  /** Kept and shown, cut to 8192 characters. Default: none. */
  reason?: string | undefined
  /** The transaction with whose commit the cancel is asked for; a worker carries it out then. Default: none. */
  tx?: Queryable | undefined
}

/** What `client.retry` takes. */
export interface RetryOptions {
  /** Whether all its steps run again, and none of their answers is kept. Default: false. */
  fresh?: boolean | undefined
}

/** What `client.startMany` takes after the items. */
export interface StartManyOptions {
  /** All of them start or, if one is refused, none (`all`); or each for itself (`each`). Default: all. */
  mode?: 'all' | 'each' | undefined
  /** The transaction in which to start them. Default: none; they commit by themselves. */
  tx?: Queryable | undefined
}

type Read<T> = { readonly [K in keyof Required<T>]: T[K] }
type ReadResultOptions = Omit<Read<ResultOptions>, 'timeout'> & { readonly timeout: number | undefined }
type ReadRetryOptions = { readonly fresh: boolean }
type ReadStartManyOptions = Omit<Read<StartManyOptions>, 'mode'> & { readonly mode: 'all' | 'each' }

const longestReason = 8_192

/** Why a run is cancelled, or a claim given back: made storable and cut, as other reasons are. */
export const reason = (): ZodType<string> =>
  z.string('a text, or leave it out').transform((text) => storableText(text, longestReason))

export const watchOptions: OptionTable<WatchOptions, Read<WatchOptions>> = {
  abortSignal: {
    type: 'AbortSignal',
    check: custom((value) => value instanceof AbortSignal, "an AbortController's signal"),
    doc: 'Ends the waiting, which then throws what it was aborted with. The run goes on.',
  },
}

export const resultOptions: OptionTable<ResultOptions, ReadResultOptions> = {
  ...watchOptions,
  timeout: {
    type: 'Duration',
    unit: 'ms',
    defaultNote: 'none; for ever',
    check: duration(),
    doc: "How long to wait for the run's end before it is a ResultTimeoutError.",
  },
}

export const cancelOptions: OptionTable<CancelOptions, Read<CancelOptions>> = {
  reason: { type: 'string', check: reason, doc: `Kept and shown, cut to ${longestReason} characters.` },
  tx: {
    type: '{ query(text, values) }',
    check: queryable(),
    doc: 'The transaction with whose commit the cancel is asked for; a worker carries it out then.',
  },
}

export const retryOptions: OptionTable<RetryOptions, ReadRetryOptions> = {
  fresh: {
    type: 'boolean',
    default: false,
    check: flag(),
    doc: 'Whether all its steps run again, and none of their answers is kept.',
  },
}

export const startManyOptions: OptionTable<StartManyOptions, ReadStartManyOptions> = {
  mode: {
    type: "'all' | 'each'",
    default: 'all',
    check: oneOf(['all', 'each']),
    doc: 'All of them start or, if one is refused, none (`all`); or each for itself (`each`).',
  },
  tx: {
    type: '{ query(text, values) }',
    defaultNote: 'none; they commit by themselves',
    check: queryable(),
    doc: 'The transaction in which to start them.',
  },
}

type Reader<Given, Resolved> = (given?: Given) => Resolved

function reader<Given, Resolved extends Record<keyof Given, unknown>>(
  table: OptionTable<Given, Resolved>,
  call: string,
): Reader<Given, Resolved> {
  const read = createOptionReader(table, ArgumentError)
  return (given) => read(given === undefined ? {} : given, call)
}

export const parseWatchOptions: Reader<WatchOptions, Read<WatchOptions>> = reader(watchOptions, 'watch')
export const parseResultOptions: Reader<ResultOptions, ReadResultOptions> = reader(resultOptions, 'result')
export const parseCancelOptions: Reader<CancelOptions, Read<CancelOptions>> = reader(cancelOptions, 'cancel')
export const parseRetryOptions: Reader<RetryOptions, ReadRetryOptions> = reader(retryOptions, 'retry')
export const parseStartManyOptions: Reader<StartManyOptions, ReadStartManyOptions> = reader(
  startManyOptions,
  'startMany',
)
