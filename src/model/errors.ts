/**
 * The catalogue of errors a user can meet. Each has a class, a stable `code`, and where it helps a `field` (which
 * option or argument) and a `remedy` (what to do about it). docs/errors.md has one line for each; a test compares.
 */

/** What an error can say beside its message. */
export interface Problem {
  /** The option, argument or path that is wrong. */
  readonly field?: string | undefined
  /** What to do about it. */
  readonly remedy?: string | undefined
  readonly cause?: unknown
}

/** Every code, as it is in `code` and in docs/errors.md. */
export const errorCodes = [
  'CONFIG',
  'ARGUMENT',
  'DURATION',
  'INVALID_INPUT',
  'INVALID_OUTPUT',
  'UNSERIALIZABLE',
  'PAYLOAD_TOO_LARGE',
  'UNKNOWN_WORKFLOW',
  'NOT_FOUND',
  'KEY_TAKEN',
  'KEY_REUSED',
  'ID_CONFLICT',
  'QUEUE_FULL',
  'INVALID_STATE',
  'LEASE_LOST',
  'RUN_FAILED',
  'RUN_CANCELLED',
  'RUN_ENDED',
  'CHILD_FAILED',
  'RESULT_TIMEOUT',
  'TIMEOUT',
  'WAIT_TIMEOUT',
  'INVALID_SIGNAL',
  'NON_RETRYABLE',
  'UNUSED_DIRECTIVE',
  'STEP_LIMIT',
  'MISMATCH',
  'VERSION',
  'CLOSED',
  'ENDLESS',
  'DATABASE_UNREACHABLE',
  'DATABASE_VERSION',
  'DATABASE_PERMISSION',
  'DATABASE_ISOLATION',
  'SCHEMA_MISSING',
  'SCHEMA_NEWER',
  'SCHEMA_CHANGED',
] as const

/** The stable name of a kind of error. */
export type ErrorCode = (typeof errorCodes)[number]

/** What all our errors are: `code` for programs, `field` and `remedy` for whoever reads. */
export abstract class HoldfastError extends Error {
  abstract readonly code: ErrorCode
  readonly field: string | undefined
  readonly remedy: string | undefined

  constructor(message: string, problem: Problem = {}) {
    const { field, remedy, cause } = problem
    super(remedy ? `${message} ${remedy}` : message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.field = field
    this.remedy = remedy
  }
}

/** A definition, client or worker is set up wrongly. Thrown at once, before anything runs. */
export class ConfigError extends HoldfastError {
  readonly code = 'CONFIG'
}

/** An argument of a call is wrong: a name, key, id, date or option. Nothing was written. */
export class ArgumentError extends HoldfastError {
  readonly code = 'ARGUMENT'
}

/** A duration cannot be read, or is not finite, negative or out of range. */
export class DurationError extends HoldfastError {
  readonly code = 'DURATION'
}

/** One thing that a schema refused; `path` is where in the value. */
export interface SchemaIssue {
  readonly path: string
  readonly message: string
}

/** The input does not fit the workflow's schema. At start nothing was written; at a claim the run fails as `invalid`. */
export class InvalidInputError extends HoldfastError {
  readonly code = 'INVALID_INPUT'
  readonly issues: readonly SchemaIssue[]
  readonly retryable = false

  constructor(message: string, issues: readonly SchemaIssue[], problem?: Problem) {
    super(message, problem)
    this.issues = issues
  }
}

/** What the handler returned does not fit the workflow's output schema. */
export class InvalidOutputError extends HoldfastError {
  readonly code = 'INVALID_OUTPUT'
  readonly issues: readonly SchemaIssue[]

  constructor(message: string, issues: readonly SchemaIssue[], problem?: Problem) {
    super(message, problem)
    this.issues = issues
  }
}

/** A value holds something that cannot be stored and given back the same; `path` says where. */
export class UnserializableError extends HoldfastError {
  readonly code = 'UNSERIALIZABLE'
  readonly path: string
  readonly retryable = false

  constructor(message: string, path: string, problem?: Problem) {
    super(message, { ...problem, field: problem?.field ?? path })
    this.path = path
  }
}

/** A value's stored form is larger than 1 MiB. */
export class PayloadTooLargeError extends HoldfastError {
  readonly code = 'PAYLOAD_TOO_LARGE'
  readonly retryable = false
}

/** No definition of that name is known here. */
export class UnknownWorkflowError extends HoldfastError {
  readonly code = 'UNKNOWN_WORKFLOW'
}

/** No run has that id or key. */
export class NotFoundError extends HoldfastError {
  readonly code = 'NOT_FOUND'
}

/** The run cannot come back under its key: another run has it now. */
export class KeyTakenError extends HoldfastError {
  readonly code = 'KEY_TAKEN'
}

/** The key names a run that was started with another input. */
export class KeyReusedError extends HoldfastError {
  readonly code = 'KEY_REUSED'
}

/** As many runs of the workflow wait as its `maxWaiting` allows. */
export class QueueFullError extends HoldfastError {
  readonly code = 'QUEUE_FULL'
}

/** The id names a run of another workflow. */
export class IdConflictError extends HoldfastError {
  readonly code = 'ID_CONFLICT'
}

/** The run's state does not allow that call. */
export class InvalidStateError extends HoldfastError {
  readonly code = 'INVALID_STATE'
}

/** `not_found`: nobody holds the run (it ended, or its lease was ended). `superseded`: a later claim holds it. */
export type LeaseLostReason = 'not_found' | 'superseded'

/** This claim no longer owns the run. Whatever it does is refused, and no step begins any more. */
export class LeaseLostError extends HoldfastError {
  readonly code = 'LEASE_LOST'
  readonly reason: LeaseLostReason

  constructor(message: string, reason: LeaseLostReason, problem?: Problem) {
    super(message, problem)
    this.reason = reason
  }
}

/** Why a run failed for good. */
export const failureCauses = [
  'rejected',
  'attempts_exhausted',
  'lease_expired',
  'timeout',
  'deadline',
  'invalid',
  'admin',
] as const

/** One of `failureCauses`. */
export type FailureCause = (typeof failureCauses)[number]

/** The run failed for good: `failure` says why, `cause` is its last error. */
export class RunFailedError extends HoldfastError {
  readonly code = 'RUN_FAILED'
  readonly failure: FailureCause
  readonly runId: string

  constructor(message: string, failure: FailureCause, runId: string, problem?: Problem) {
    super(message, problem)
    this.failure = failure
    this.runId = runId
  }
}

/** The run was cancelled. */
export class RunCancelledError extends HoldfastError {
  readonly code = 'RUN_CANCELLED'
  readonly runId: string

  constructor(message: string, runId: string, problem?: Problem) {
    super(message, problem)
    this.runId = runId
  }
}

/** The run has ended, so that no signal reaches it any more. */
export class RunEndedError extends HoldfastError {
  readonly code = 'RUN_ENDED'
}

/** A run that this one called failed for good, with `failure`, or was cancelled, without. `cause` is its last error. */
export class ChildFailedError extends HoldfastError {
  readonly code = 'CHILD_FAILED'
  readonly runId: string
  readonly workflow: string
  readonly failure: FailureCause | undefined
  readonly retryable = false

  constructor(message: string, child: Pick<ChildFailedError, 'runId' | 'workflow' | 'failure'>, problem?: Problem) {
    super(message, problem)
    this.runId = child.runId
    this.workflow = child.workflow
    this.failure = child.failure
  }
}

/** The run had not ended within the caller's own time limit. The run goes on. */
export class ResultTimeoutError extends HoldfastError {
  readonly code = 'RESULT_TIMEOUT'
}

/** A step or a claim took longer than its `timeout`. */
export class TimeoutError extends HoldfastError {
  readonly code = 'TIMEOUT'
}

/** What was waited for did not come in time. Kept, so that another attempt would meet it again. */
export class WaitTimeoutError extends HoldfastError {
  readonly code = 'WAIT_TIMEOUT'
  readonly retryable = false
}

/** A signal's payload does not fit its schema. To whoever sends it: nothing was sent. */
export class InvalidSignalError extends HoldfastError {
  readonly code = 'INVALID_SIGNAL'
  readonly issues: readonly SchemaIssue[]
  readonly retryable = false

  constructor(message: string, issues: readonly SchemaIssue[], problem?: Problem) {
    super(message, problem)
    this.issues = issues
  }
}

/** Throw it, or any error with `retryable: false`, to fail the run for good now. */
export class NonRetryableError extends HoldfastError {
  readonly code = 'NON_RETRYABLE'
  readonly retryable = false
}

/** A directive was made and neither returned nor thrown, so it would have done nothing. */
export class UnusedDirectiveError extends HoldfastError {
  readonly code = 'UNUSED_DIRECTIVE'
}

/** The run has more steps than `maxSteps` allows. */
export class StepLimitError extends HoldfastError {
  readonly code = 'STEP_LIMIT'
  readonly retryable = false
}

/** The handler went another way than its record, under `onMismatch: 'fail'`. */
export class MismatchError extends HoldfastError {
  readonly code = 'MISMATCH'
  readonly retryable = false
}

/** The run went a version's way that its code does not know, or no longer. */
export class VersionError extends HoldfastError {
  readonly code = 'VERSION'
}

/** The client or worker was closed. */
export class ClosedError extends HoldfastError {
  readonly code = 'CLOSED'
}

/** In a test, something was due again each time that time was moved. */
export class EndlessError extends HoldfastError {
  readonly code = 'ENDLESS'
}

/** No connection to the database, or it was lost. */
export class DatabaseUnreachableError extends HoldfastError {
  readonly code = 'DATABASE_UNREACHABLE'
}

/** The server is older than PostgreSQL 13. */
export class DatabaseVersionError extends HoldfastError {
  readonly code = 'DATABASE_VERSION'
}

/** The database user may not do that. */
export class DatabasePermissionError extends HoldfastError {
  readonly code = 'DATABASE_PERMISSION'
}

/** A function that locks or counts was called outside `read committed`. */
export class DatabaseIsolationError extends HoldfastError {
  readonly code = 'DATABASE_ISOLATION'
}

/** Holdfast's schema is not there, or lacks a migration. */
export class SchemaMissingError extends HoldfastError {
  readonly code = 'SCHEMA_MISSING'
}

/** The schema was migrated by a newer release than this one knows. */
export class SchemaNewerError extends HoldfastError {
  readonly code = 'SCHEMA_NEWER'
}

/** A released migration's text is not the one that was applied. */
export class SchemaChangedError extends HoldfastError {
  readonly code = 'SCHEMA_CHANGED'
}
