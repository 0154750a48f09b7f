import { z } from 'zod'
import { isUuid } from '../model/id.ts'
import type { Duration } from '../model/policy.ts'
import type { Queryable } from '../model/run.ts'
import { custom, date, duration, flag, isShortText, queryable, whole, wholeUpTo } from './checks.ts'
import { metadata } from './metadata-check.ts'
import type { OptionTable } from './option.ts'
import { attemptCeiling, highestPriority, lowestPriority } from './workflow-options.ts'

/** What `client.start` takes after the input. */
export interface StartOptions {
  /**
   * Of the runs of a workflow under one key only one lives: starting it again gives the one there is. At most 512
   * characters. Default: none.
   */
  key?: string | undefined
  /** The run's id, a UUID; starting the same id again gives the same run. Default: a new UUIDv7. */
  id?: string | undefined
  /** When the run is due, by the database's clock; not together with `delay`. Default: now. */
  at?: Date | undefined
  /** How long from now the run is due; not together with `at`. Default: none. */
  delay?: Duration | undefined
  /** Higher goes first. Default: the workflow's. */
  priority?: number | undefined
  /** Kept with the run, shown and given to the handler: at most 64 texts of at most 4096 characters. Default: {}. */
  metadata?: Record<string, string> | undefined
  /** Counted attempts before this run fails for good; more than 100 count as 100. Default: the workflow's. */
  maxAttempts?: number | undefined
  /**
   * The transaction in which to start: the run is there if and when it commits. Default: none; the start commits by
   * itself.
   */
  tx?: Queryable | undefined
  /** Whether a key that names a run of another input gives that run rather than a KeyReusedError. Default: false. */
  allowDifferentInput?: boolean | undefined
}

/** Each option once read: durations are milliseconds. */
export interface ReadStartOptions {
  readonly key: string | undefined
  readonly id: string | undefined
  readonly at: Date | undefined
  readonly delay: number | undefined
  readonly priority: number | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly maxAttempts: number | undefined
  readonly tx: Queryable | undefined
  readonly allowDifferentInput: boolean
}

const longestKey = 512

export const startOptions: OptionTable<StartOptions, ReadStartOptions> = {
  key: {
    type: 'string',
    check: custom(
      (value) => isShortText(value, longestKey),
      `a text of 1 to ${longestKey} characters without U+0000 and lone surrogates, or leave it out`,
    ),
    doc: `Of the runs of a workflow under one key only one lives: starting it again gives the one there is. At most ${longestKey} characters.`,
  },
  id: {
    type: 'string',
    defaultNote: 'a new UUIDv7',
    check: () => z.custom<string>(isUuid, 'a UUID, or leave it out').transform((id) => id.toLowerCase()),
    doc: "The run's id, a UUID; starting the same id again gives the same run.",
  },
  at: {
    type: 'Date',
    defaultNote: 'now',
    check: date(),
    doc: "When the run is due, by the database's clock; not together with `delay`.",
  },
  delay: {
    type: 'Duration',
    unit: 'ms',
    check: duration(),
    doc: 'How long from now the run is due; not together with `at`.',
  },
  priority: {
    type: 'number',
    defaultNote: "the workflow's",
    check: whole(lowestPriority, highestPriority),
    doc: 'Higher goes first.',
  },
  metadata: {
    type: 'Record<string, string>',
    default: {},
    check: metadata,
    doc: 'Kept with the run, shown and given to the handler: at most 64 texts of at most 4096 characters.',
  },
  maxAttempts: {
    type: 'number',
    defaultNote: "the workflow's",
    check: wholeUpTo(attemptCeiling),
    doc: `Counted attempts before this run fails for good; more than ${attemptCeiling} count as ${attemptCeiling}.`,
  },
  tx: {
    type: '{ query(text, values) }',
    defaultNote: 'none; the start commits by itself',
    check: queryable(),
    doc: 'The transaction in which to start: the run is there if and when it commits.',
  },
  allowDifferentInput: {
    type: 'boolean',
    default: false,
    check: flag(),
    doc: 'Whether a key that names a run of another input gives that run rather than a KeyReusedError.',
  },
}
