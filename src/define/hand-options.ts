import { ArgumentError } from '../model/errors.ts'
import type { Duration } from '../model/policy.ts'
import { reason } from './call-options.ts'
import { custom, duration, flag, isShortText, whole } from './checks.ts'
import type { OptionTable } from './option.ts'
import { createOptionReader } from './option-reader.ts'

/** What `client.reserve` takes. More than it gives counts as the most. */
export interface ReserveOptions {
  /** Names of workflows, tried in this order. */
  workflows: readonly string[]
  /** How many runs at most, up to 100. Default: 1. */
  max?: number | undefined
  /** How long to hold them, at most the workflow's `maxLease`. Default: the workflow's. */
  lease?: Duration | undefined
  /** How long to wait for one, at most a minute. Default: 0. */
  wait?: Duration | undefined
}

export interface ReadReserveOptions {
  readonly workflows: readonly string[]
  readonly max: number
  readonly lease: number | undefined
  readonly wait: number
}

/** What `client.nack` takes. */
export interface NackOptions {
  /** When the run is due again. Default: its workflow's backoff. */
  after?: Duration | undefined
  /** Whether it fails for good. Default: false. */
  permanent?: boolean | undefined
  /** What is kept and shown as the reason. Default: none. */
  reason?: string | undefined
}

export interface ReadNackOptions {
  readonly after: number | undefined
  readonly permanent: boolean
  readonly reason: string | undefined
}

const mostReserved = 100
const longestWaitMs = 60_000
const longestName = 512

export const reserveOptions: OptionTable<ReserveOptions, ReadReserveOptions> = {
  workflows: {
    type: 'string[]',
    isRequired: true,
    check: custom(
      (value) => Array.isArray(value) && value.length > 0 && value.every((name) => isShortText(name, longestName)),
      'one name of a workflow or more',
    ),
    doc: 'Names of workflows, tried in this order.',
  },
  max: {
    type: 'number',
    default: 1,
    check: () => whole(1)('max').transform((value) => Math.min(value, mostReserved)),
    doc: `How many runs at most, up to ${mostReserved}.`,
  },
  lease: {
    type: 'Duration',
    unit: 'ms',
    defaultNote: "the workflow's",
    check: duration(100),
    doc: "How long to hold them, at most the workflow's `maxLease`.",
  },
  wait: {
    type: 'Duration',
    unit: 'ms',
    default: 0,
    check: (field) => duration()(field).transform((ms) => Math.min(ms, longestWaitMs)),
    doc: 'How long to wait for one, at most a minute.',
  },
}

export const nackOptions: OptionTable<NackOptions, ReadNackOptions> = {
  after: {
    type: 'Duration',
    unit: 'ms',
    defaultNote: "its workflow's backoff",
    check: duration(),
    doc: 'When the run is due again.',
  },
  permanent: { type: 'boolean', default: false, check: flag(), doc: 'Whether it fails for good.' },
  reason: { type: 'string', check: reason, doc: 'What is kept and shown as the reason.' },
}

const readReserve = createOptionReader(reserveOptions, ArgumentError)
const readNack = createOptionReader(nackOptions, ArgumentError)

/** Throws ArgumentError or DurationError. */
export function parseReserveOptions(given: ReserveOptions): ReadReserveOptions {
  return readReserve(given, 'reserve')
}

/** Throws ArgumentError or DurationError. */
export function parseNackOptions(given: NackOptions = {}): ReadNackOptions {
  return readNack(given, 'nack')
}
