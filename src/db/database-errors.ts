import {
  ArgumentError,
  DatabaseIsolationError,
  DatabasePermissionError,
  DatabaseUnreachableError,
  HoldfastError,
  IdConflictError,
  KeyReusedError,
  LeaseLostError,
  QueueFullError,
  SchemaMissingError,
  UnknownWorkflowError,
} from '../model/errors.ts'

const lostCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '25P03',
  '53300',
  '25006',
])

const lostMessages =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying|Query read timeout)|is not currently accepting connections$/

/** Whether the server went away, is starting, or is a read-only standby: what was asked may or may not have happened. */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionLoss)
  const code = codeOf(error)
  return (
    (code !== undefined && (lostCodes.has(code) || code.startsWith('08'))) ||
    // A standby's answer to `begin … read write`, and to a serializable query. The code alone says only that it cannot.
    (code === '0A000' && /^(call_bool_check_hook|GetSerializableTransactionSnapshot)$/.test(routineOf(error))) ||
    // Whatever keeps a socket from being opened: that of Unix is a file, and gone while the server is.
    (error instanceof Error && 'syscall' in error && error.syscall === 'connect') ||
    (error instanceof Error && lostMessages.test(error.message))
  )
}

/** Whether the server is there and cannot just now: out of memory, disk or connections, a failing disk, or out of time. */
export function isShortage(error: unknown): boolean {
  return /^(53|58|57014)/.test(codeOf(error) ?? '')
}

/** Whether Postgres undid the transaction and it is good when run again. */
export function isUndone(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40001' || code === '40P01' || isSuperseded(error)
}

/**
 * Whether a function was replaced: between a call's reading and its run, or by one with another answer since the
 * session prepared the call.
 */
export function isSuperseded(error: unknown): boolean {
  const code = codeOf(error)
  return (
    (code === 'XX000' && error instanceof Error && error.message.startsWith('cache lookup failed for function')) ||
    (code === '0A000' && routineOf(error) === 'RevalidateCachedQuery')
  )
}

/** Whether one item of a batch can be to blame: bad data, a broken constraint, or a limit. */
export function isItemFault(error: unknown): boolean {
  return /^(22|23|54)/.test(codeOf(error) ?? '')
}

/** Whether a lock was not had in time. Nothing was written and nothing is wrong with what was asked. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

/** The function of the server's that refused; what it says is in the server's language. */
function routineOf(error: unknown): string {
  const routine = (error as { routine?: unknown }).routine
  return typeof routine === 'string' ? routine : ''
}

export function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

type Explanation = (said: string, cause: unknown) => HoldfastError

const unreachable: Explanation = (said, cause) =>
  new DatabaseUnreachableError(`The database cannot be used: ${said}.`, {
    field: 'connectionString',
    remedy: 'Check DATABASE_URL or connectionString: host, port, database, user and password.',
    cause,
  })

const notAllowed: Explanation = (said, cause) =>
  new DatabasePermissionError(`The database user may not do that: ${said}.`, {
    field: 'connectionString',
    remedy: 'Run `workflow migrate` as a user who may create schemas, and grant this user the use of them.',
    cause,
  })

const incomplete: Explanation = (said, cause) =>
  new SchemaMissingError(`Holdfast's schema is not complete: ${said}.`, {
    field: 'schema',
    remedy: 'Run `workflow migrate`.',
    cause,
  })

/** What a user is told, by SQLSTATE or by the network's code. Class WF is raised by our own functions. */
const explanations: Readonly<Record<string, Explanation>> = {
  ENOTFOUND: unreachable,
  '28P01': unreachable,
  '28000': unreachable,
  '3D000': unreachable,
  '42501': notAllowed,
  '3F000': incomplete,
  '42P01': incomplete,
  '42883': incomplete,
  WF001: (said, cause) =>
    new DatabaseIsolationError(said, {
      remedy: 'Call it outside a transaction, or in one at read committed.',
      cause,
    }),
  WF002: (said, cause) =>
    new UnknownWorkflowError(said, {
      field: 'workflow',
      remedy: 'Start a worker that has it, or check the name.',
      cause,
    }),
  WF003: (said, cause) =>
    new QueueFullError(said, { field: 'maxWaiting', remedy: 'Start it again later, or run more workers.', cause }),
  WF004: (said) => new LeaseLostError(said, 'not_found'),
  WF005: (said) => new LeaseLostError(said, 'superseded'),
  WF006: (said, cause) =>
    new KeyReusedError(said, {
      field: 'key',
      remedy: 'Use another key, or allow the different input to get that run.',
      cause,
    }),
  WF007: (said, cause) =>
    new IdConflictError(said, { field: 'id', remedy: 'Leave the id out, or use one id for one run.', cause }),
  WF008: (said, cause) => new ArgumentError(said, { cause }),
}

/** What a user is told when the database refuses. Anything unknown passes as it is. */
export function explain(error: unknown): unknown {
  if (error instanceof HoldfastError) return error
  const code = codeOf(error)
  const said = error instanceof Error ? error.message || code || error.name : String(error)
  const explanation = isConnectionLoss(error) ? unreachable : explanations[code ?? '']
  return explanation ? explanation(said, error) : error
}
