import type { StandardSchemaV1 } from '@standard-schema/spec'
import { z } from 'zod'
import type { Directive } from '../model/directive.ts'
import type { Duration, ErrorClass, Limits, RetryPolicy, Schedule } from '../model/policy.ts'
import type { ResolvedRetry } from '../model/retry.ts'
import { resolveRetry } from '../model/retry.ts'
import type { Run } from '../model/run.ts'
import type { In, Parsed, Schema } from '../model/schema.ts'
import type { OnMismatch, ResolvedSchedule } from '../model/workflow.ts'
import { custom, duration, flag, oneOf, whole, wholeUpTo } from './checks.ts'
import { concurrency, rate } from './limit-checks.ts'
import type { GivenConcurrency, GivenRate } from './limit-checks.ts'
import type { OptionTable } from './option.ts'
import { schedule } from './schedule-check.ts'
import { errorClasses, schema, workflowName } from './workflow-checks.ts'

/** What `defineWorkflow` takes. */
export interface WorkflowOptions<
  N extends string = string,
  IS extends Schema | undefined = Schema | undefined,
  OS extends Schema | undefined = Schema | undefined,
  R = unknown,
> extends Limits<Parsed<IS>> {
  /** Unique among the workflows of a database; runs are kept under it, so renaming makes another workflow. */
  name: N
  /** Checks and parses the input, at start and at each claim. Default: none; the input is `undefined`. */
  input?: IS
  /** Checks and parses what the handler returns. Default: none; whatever the handler returns. */
  output?: OS
  /** The workflow itself: an ordinary function of its parsed input and the run. */
  handler: (
    input: Parsed<IS>,
    run: Run,
  ) => OS extends Schema
    ? Promise<StandardSchemaV1.InferInput<OS> | Directive> | StandardSchemaV1.InferInput<OS> | Directive
    : R
  /**
   * How long to wait before the next attempt after a throw. Default: { initial: '1s', factor: 2, max: '1h', jitter:
   * 0.1, nonRetryable: [] }.
   */
  retry?: RetryPolicy | undefined
  /** Counted attempts before the run fails for good; more than 100 count as 100. Default: 10. */
  maxAttempts?: number | undefined
  /** How long one claim of a run may take. Default: 15m. */
  timeout?: Duration | undefined
  /** How long a run may take from its start to its end. Default: none. */
  deadline?: Duration | undefined
  /** How long a claim lasts without a renewal, at least 100 ms; renewed at half of it. Default: 30s. */
  lease?: Duration | undefined
  /** The longest lease that a handler may ask for. Default: 15m. */
  maxLease?: Duration | undefined
  /** Higher goes first. Default: 0. */
  priority?: number | undefined
  /** How long failed runs are kept; none goes before 10 minutes, nor before `dedupe` is over. Default: 7d. */
  keep?: Duration | undefined
  /**
   * How long done and cancelled runs are kept; none goes before 10 minutes, nor before `dedupe` is over. Default:
   * 1d.
   */
  keepDone?: Duration | undefined
  /** How long a key stays taken after its run ended. Default: 24h. */
  dedupe?: Duration | undefined
  /** A start is refused while that many runs wait; it may overshoot by the starts in flight. Default: none. */
  maxWaiting?: number | undefined
  /** Steps and waits a run may have; warned at half of it. Default: 10000. */
  maxSteps?: number | undefined
  /**
   * What becomes of a run whose handler went another way than its record, after a deploy say: a warning, a run parked for
   * a person, or a failed one. Default: warn.
   */
  onMismatch?: OnMismatch | undefined
  /** Error classes that come back as themselves from a step's kept failure. Default: []. */
  errors?: readonly ErrorClass[] | undefined
  /** When runs start by themselves: `cron` in a `zone`, or `every`; what is missed, and what overlaps. Default: none. */
  schedule?: Schedule<NoInfer<In<IS>>> | undefined
}

/** Each option once read: durations are milliseconds. */
export interface ReadWorkflowOptions {
  readonly name: string
  readonly input: Schema | undefined
  readonly output: Schema | undefined
  readonly handler: (input: never, run: Run) => unknown
  readonly retry: ResolvedRetry
  readonly maxAttempts: number
  readonly timeout: number
  readonly deadline: number | undefined
  readonly lease: number
  readonly maxLease: number
  readonly priority: number
  readonly keep: number
  readonly keepDone: number
  readonly dedupe: number
  readonly maxWaiting: number | undefined
  readonly maxSteps: number
  readonly onMismatch: OnMismatch
  readonly errors: readonly ErrorClass[]
  readonly group: Limits<never>['group']
  readonly concurrency: GivenConcurrency | undefined
  readonly rate: GivenRate | undefined
  readonly fair: boolean
  readonly schedule: ResolvedSchedule | undefined
}

export const attemptCeiling = 100
export const lowestPriority: number = -(2 ** 15)
export const highestPriority: number = 2 ** 15 - 1

export const workflowOptions: OptionTable<WorkflowOptions, ReadWorkflowOptions> = {
  name: {
    type: 'string',
    isRequired: true,
    check: workflowName,
    doc: 'Unique among the workflows of a database; runs are kept under it, so renaming makes another workflow.',
  },
  input: {
    type: 'Standard Schema',
    defaultNote: 'none; the input is `undefined`',
    check: schema,
    doc: 'Checks and parses the input, at start and at each claim.',
  },
  output: {
    type: 'Standard Schema',
    defaultNote: 'none; whatever the handler returns',
    check: schema,
    doc: 'Checks and parses what the handler returns.',
  },
  handler: {
    type: '(input, run) => output',
    isRequired: true,
    check: custom((value) => typeof value === 'function', 'the function to run'),
    doc: 'The workflow itself: an ordinary function of its parsed input and the run.',
  },
  retry: {
    type: '{ initial, factor, max, jitter, nonRetryable }',
    default: { initial: '1s', factor: 2, max: '1h', jitter: 0.1, nonRetryable: [] },
    check: (field) => z.unknown().transform((value) => resolveRetry(value as RetryPolicy, field)),
    doc: 'How long to wait before the next attempt after a throw.',
  },
  maxAttempts: {
    type: 'number',
    default: 10,
    check: wholeUpTo(attemptCeiling),
    doc: `Counted attempts before the run fails for good; more than ${attemptCeiling} count as ${attemptCeiling}.`,
  },
  timeout: {
    type: 'Duration',
    unit: 'ms',
    default: '15m',
    check: duration(1),
    doc: 'How long one claim of a run may take.',
  },
  deadline: {
    type: 'Duration',
    unit: 'ms',
    check: duration(1),
    doc: 'How long a run may take from its start to its end.',
  },
  lease: {
    type: 'Duration',
    unit: 'ms',
    default: '30s',
    check: duration(100),
    doc: 'How long a claim lasts without a renewal, at least 100 ms; renewed at half of it.',
  },
  maxLease: {
    type: 'Duration',
    unit: 'ms',
    default: '15m',
    check: duration(100),
    doc: 'The longest lease that a handler may ask for.',
  },
  priority: {
    type: 'number',
    default: 0,
    check: whole(lowestPriority, highestPriority),
    doc: 'Higher goes first.',
  },
  keep: {
    type: 'Duration',
    unit: 'ms',
    default: '7d',
    check: duration(),
    doc: 'How long failed runs are kept; none goes before 10 minutes, nor before `dedupe` is over.',
  },
  keepDone: {
    type: 'Duration',
    unit: 'ms',
    default: '1d',
    check: duration(),
    doc: 'How long done and cancelled runs are kept; none goes before 10 minutes, nor before `dedupe` is over.',
  },
  dedupe: {
    type: 'Duration',
    unit: 'ms',
    default: '24h',
    check: duration(),
    doc: 'How long a key stays taken after its run ended.',
  },
  maxWaiting: {
    type: 'number',
    check: whole(1),
    doc: 'A start is refused while that many runs wait; it may overshoot by the starts in flight.',
  },
  maxSteps: {
    type: 'number',
    default: 10000,
    check: whole(1),
    doc: 'Steps and waits a run may have; warned at half of it.',
  },
  onMismatch: {
    type: "'warn' | 'park' | 'fail'",
    default: 'warn',
    check: oneOf(['warn', 'park', 'fail']),
    doc: 'What becomes of a run whose handler went another way than its record, after a deploy say: a warning, a run parked for a person, or a failed one.',
  },
  errors: {
    type: 'Error classes',
    default: [],
    check: errorClasses,
    doc: "Error classes that come back as themselves from a step's kept failure.",
  },
  group: {
    type: '(input) => string | undefined',
    check: custom((value) => typeof value === 'function', 'a function from the input to the name of its group'),
    doc: "The group of a run, from its parsed input, for limits per group; undefined: only the workflow's own apply.",
  },
  concurrency: {
    type: 'number | { limit, perGroup }',
    check: concurrency,
    doc: 'How many runs of the workflow, and of each group, may run at once in all processes; a number is `{ limit }`.',
  },
  rate: {
    type: '{ limit, per, perGroup: { limit, per } }',
    check: rate,
    doc: 'How many runs of the workflow, and of each group, may begin in any stretch of `per`; retries and snoozes count.',
  },
  fair: {
    type: 'boolean',
    default: false,
    check: flag(),
    doc: 'Slots go round-robin between groups, not to the best run of all.',
  },
  schedule: {
    type: '{ cron | every, zone, catchUp, overlap, input }',
    check: schedule,
    doc: 'When runs start by themselves: `cron` in a `zone`, or `every`; what is missed, and what overlaps.',
  },
}
