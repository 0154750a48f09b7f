// Never run: `tsc --noEmit` is the test. Each @ts-expect-error fails the compilation if its line were accepted.

import {
  ChildFailedError,
  errorCodes,
  HoldfastError,
  InvalidInputError,
  InvalidOutputError,
  InvalidSignalError,
  NonRetryableError,
  UnserializableError,
} from '../../src/index.ts'
import type {
  ArgumentError,
  ClosedError,
  ConfigError,
  DatabaseIsolationError,
  DatabasePermissionError,
  DatabaseUnreachableError,
  DatabaseVersionError,
  DurationError,
  ErrorCode,
  FailureCause,
  failureCauses,
  IdConflictError,
  InvalidStateError,
  KeyReusedError,
  KeyTakenError,
  LeaseLostError,
  LeaseLostReason,
  MismatchError,
  NotFoundError,
  PayloadTooLargeError,
  Problem,
  QueueFullError,
  ResultTimeoutError,
  RunCancelledError,
  RunEndedError,
  RunFailedError,
  SchemaChangedError,
  SchemaIssue,
  SchemaMissingError,
  SchemaNewerError,
  StepLimitError,
  TimeoutError,
  UnknownWorkflowError,
  UnusedDirectiveError,
  VersionError,
  WaitTimeoutError,
} from '../../src/index.ts'
import { expectType } from './type-assert.ts'
import type { Equal } from './type-assert.ts'

// the classes that have nothing of their own but a code
expectType<Equal<ConfigError['code'], 'CONFIG'>>()
expectType<Equal<ArgumentError['code'], 'ARGUMENT'>>()
expectType<Equal<DurationError['code'], 'DURATION'>>()
expectType<Equal<PayloadTooLargeError['code'], 'PAYLOAD_TOO_LARGE'>>()
expectType<Equal<UnknownWorkflowError['code'], 'UNKNOWN_WORKFLOW'>>()
expectType<Equal<NotFoundError['code'], 'NOT_FOUND'>>()
expectType<Equal<KeyTakenError['code'], 'KEY_TAKEN'>>()
expectType<Equal<KeyReusedError['code'], 'KEY_REUSED'>>()
expectType<Equal<QueueFullError['code'], 'QUEUE_FULL'>>()
expectType<Equal<IdConflictError['code'], 'ID_CONFLICT'>>()
expectType<Equal<InvalidStateError['code'], 'INVALID_STATE'>>()
expectType<Equal<ResultTimeoutError['code'], 'RESULT_TIMEOUT'>>()
expectType<Equal<RunEndedError['code'], 'RUN_ENDED'>>()
expectType<Equal<WaitTimeoutError['code'], 'WAIT_TIMEOUT'>>()
expectType<Equal<MismatchError['code'], 'MISMATCH'>>()
expectType<Equal<VersionError['code'], 'VERSION'>>()
// those that another attempt would meet again
expectType<Equal<(WaitTimeoutError | MismatchError | ChildFailedError | InvalidSignalError)['retryable'], false>>()
expectType<Equal<TimeoutError['code'], 'TIMEOUT'>>()
expectType<Equal<UnusedDirectiveError['code'], 'UNUSED_DIRECTIVE'>>()
expectType<Equal<StepLimitError['code'], 'STEP_LIMIT'>>()
expectType<Equal<ClosedError['code'], 'CLOSED'>>()
expectType<Equal<DatabaseUnreachableError['code'], 'DATABASE_UNREACHABLE'>>()
expectType<Equal<DatabaseVersionError['code'], 'DATABASE_VERSION'>>()
expectType<Equal<DatabasePermissionError['code'], 'DATABASE_PERMISSION'>>()
expectType<Equal<DatabaseIsolationError['code'], 'DATABASE_ISOLATION'>>()
expectType<Equal<SchemaMissingError['code'], 'SCHEMA_MISSING'>>()
expectType<Equal<SchemaNewerError['code'], 'SCHEMA_NEWER'>>()
expectType<Equal<SchemaChangedError['code'], 'SCHEMA_CHANGED'>>()

// what all have
declare const error: HoldfastError
expectType<Equal<typeof error.code, ErrorCode>>()
expectType<Equal<ErrorCode, (typeof errorCodes)[number]>>()
expectType<Equal<[typeof error.field, typeof error.remedy], [string | undefined, string | undefined]>>()
const caught: Error = error
const problem: Problem = { field: 'key', remedy: 'Give another.', cause: caught }
void problem
// @ts-expect-error -- read only
error.code = 'CONFIG'
// @ts-expect-error -- abstract: each error is of a class of its own
void new HoldfastError('no')
// @ts-expect-error -- no such code
const noCode: ErrorCode = 'OOPS'
// @ts-expect-error -- no such part
const noProblem: Problem = { hint: 'x' }
// @ts-expect-error -- read only
errorCodes.push('CONFIG')
void [noCode, noProblem]

// what some have beside
declare const issues: readonly SchemaIssue[]
expectType<Equal<SchemaIssue, { readonly path: string; readonly message: string }>>()
const invalidInput = new InvalidInputError('no', issues)
const invalidOutput = new InvalidOutputError('no', issues, problem)
expectType<Equal<typeof invalidInput.issues, readonly SchemaIssue[]>>()
expectType<Equal<typeof invalidOutput.issues, readonly SchemaIssue[]>>()
expectType<Equal<typeof invalidInput.retryable, false>>()
const unserializable = new UnserializableError('no', 'input.at')
expectType<Equal<typeof unserializable.path, string>>()
declare const failed: RunFailedError
expectType<Equal<typeof failed.failure, FailureCause>>()
expectType<Equal<FailureCause, (typeof failureCauses)[number]>>()
declare const cancelled: RunCancelledError
expectType<Equal<[typeof failed.runId, typeof cancelled.runId], [string, string]>>()
declare const lost: LeaseLostError
expectType<Equal<typeof lost.reason, LeaseLostReason>>()
expectType<Equal<LeaseLostReason, 'not_found' | 'superseded'>>()
const child = new ChildFailedError('no', { runId: 'id', workflow: 'w', failure: undefined }, { cause: caught })
expectType<Equal<[typeof child.runId, typeof child.workflow], [string, string]>>()
expectType<Equal<typeof child.failure, FailureCause | undefined>>()
const invalidSignal = new InvalidSignalError('no', issues)
expectType<Equal<typeof invalidSignal.issues, readonly SchemaIssue[]>>()
// @ts-expect-error -- whose failure?
void new ChildFailedError('no')
// @ts-expect-error -- an output is tried again
void invalidOutput.retryable
// @ts-expect-error -- a cancelled run has not failed
void cancelled.failure
// @ts-expect-error -- no such cause
const noCause: FailureCause = 'bored'
void noCause

// the one that users throw
const final = new NonRetryableError('no such card', { cause: caught })
expectType<Equal<typeof final.retryable, false>>()
void new NonRetryableError('no such card')
// @ts-expect-error -- a message is required
void new NonRetryableError()
