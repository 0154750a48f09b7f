import { cancelRun, findRun, listRuns, retryRun } from '../db/run-calls.ts'
import type { Database } from '../db/database.ts'
import { recordDefinitions } from '../db/record-definitions.ts'
import { isWorkflow } from '../define/define-workflow.ts'
import type { StartArgs, StartOptions } from '../define/start-options.ts'
import type { Clock } from '../model/clock.ts'
import { formatDuration, parseDuration } from '../model/duration.ts'
import {
  ArgumentError,
  ClosedError,
  InvalidStateError,
  KeyTakenError,
  NotFoundError,
  ResultTimeoutError,
  RunCancelledError,
  RunFailedError,
  UnserializableError,
} from '../model/errors.ts'
import type { Logger } from '../model/logger.ts'
import type { Duration } from '../model/policy.ts'
import { states, type State } from '../model/state.ts'
import { storableText } from '../model/storable.ts'
import type { Workflow } from '../model/workflow.ts'
import { EndWatch } from './end-watch.ts'
import { once } from './once.ts'
import { refuseUnknown } from './refuse-unknown.ts'
import { resend } from './resend.ts'
import { toRunView, type RunView } from './run-view.ts'
import { Starter, type Started } from './starter.ts'
import { readWhich, requireStorable, type Which } from './which.ts'

export interface ListFilter {
  workflow?: string | undefined
  state?: State | undefined
  /** Default 50, at most 1000. */
  limit?: number | undefined
}

export interface ResultOptions {
  abortSignal?: AbortSignal | undefined
  /** How long to wait for the run's end. Default: for ever. */
  timeout?: Duration | undefined
}

export interface ClientCoreOptions {
  readonly database: Database
  readonly clock: Clock
  /** Gets a line when a start met connection loss and is sent again. Default: none. */
  readonly log?: Logger | undefined
  /** Sees that the schema is there. Runs once, before the first call that needs it. */
  readonly prepare: () => Promise<void>
}

const mostListed = 1_000

/** Starts runs and asks about them. It needs no worker in its process. */
export class Client {
  readonly #database: Database
  readonly #clock: Clock
  readonly #prepare: () => Promise<void>
  readonly #starter: Starter
  readonly #ends: EndWatch
  readonly #recorded = new Map<string, Promise<void>>()
  #prepared: Promise<void> | undefined
  #isClosed = false

  constructor({ database, clock, prepare, log }: ClientCoreOptions) {
    this.#database = database
    this.#clock = clock
    this.#prepare = prepare
    this.#starter = new Starter(database, clock, log)
    this.#ends = new EndWatch(database, clock)
  }

  /** The database of a client that a worker is to share. */
  static databaseOf(client: Client): Database {
    return client.#database
  }

  /** Sees that the schema is there, in the way this client was told to. */
  static async prepare(client: Client): Promise<void> {
    await client.#ready()
  }

  /**
   * Starts a run. When it returns, the run survives the death of every process. With `tx` it exists if and only if that
   * transaction commits.
   *
   * @throws InvalidInputError, UnserializableError, PayloadTooLargeError, ArgumentError: nothing was written.
   * @throws KeyReusedError if the key names a run with another input.
   */
  async start<I, O>(
    // oxlint-disable-next-line typescript/no-explicit-any -- what its handler gets does not matter here
    workflow: Workflow<I, any, O>,
    ...[input, options]: StartArgs<I, StartOptions>
  ): Promise<Started<O>> {
    if (!isWorkflow(workflow)) {
      throw new ArgumentError('start was given something else than a workflow.', {
        field: 'workflow',
        remedy: 'Pass what defineWorkflow returned.',
      })
    }
    this.#requireOpen()
    const started = await this.#starter.start(workflow, input, options, () => this.#record(workflow))
    return started as Started<O>
  }

  /** The run as it is now; undefined if there is none. */
  async get(run: Which): Promise<RunView | undefined> {
    const which = readWhich(run)
    await this.#ready()
    const json = await resend(this.#clock, () => findRun(this.#database, which))
    return json === undefined ? undefined : toRunView(json)
  }

  /** Runs, newest first. */
  async list(filter: ListFilter = {}): Promise<RunView[]> {
    refuseUnknown(filter, 'list', ['workflow', 'state', 'limit'])
    const { workflow, state, limit = 50 } = filter
    if (state !== undefined && !states.includes(state)) {
      throw new ArgumentError(`There is no state ${JSON.stringify(state)}.`, {
        field: 'state',
        remedy: `States are ${states.join(', ')}.`,
      })
    }
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > mostListed) {
      throw new ArgumentError('limit is out of range.', { field: 'limit', remedy: `Give 1 to ${mostListed}.` })
    }
    if (workflow !== undefined) requireStorable(workflow, 'workflow')
    await this.#ready()
    const found = await resend(this.#clock, () => listRuns(this.#database, { workflow, state, limit }))
    return found.map(toRunView)
  }

  /**
   * Waits for the run's end and answers its output.
   *
   * @throws RunFailedError with `failure` and the last error as `cause`; RunCancelledError; NotFoundError;
   *   ResultTimeoutError past `timeout`.
   */
  async result<O>(run: Which<O>, options: ResultOptions = {}): Promise<O> {
    refuseUnknown(options, 'result', ['abortSignal', 'timeout'])
    const { abortSignal } = options
    const limitMs = options.timeout === undefined ? undefined : parseDuration(options.timeout, 'timeout')
    const { id } = await this.#require(run)
    if (limitMs === undefined) await this.#ends.wait(id, abortSignal)
    else await this.#waitFor(id, limitMs, abortSignal)
    return outputOf(await this.#require(id)) as O
  }

  /** Cancels a run that has not ended; one that has stays as it is. A running handler's `abortSignal` aborts. */
  async cancel(run: Which, options: { reason?: string | undefined } = {}): Promise<RunView> {
    refuseUnknown(options, 'cancel', ['reason'])
    const { id } = await this.#require(run)
    const reason = options.reason === undefined ? undefined : storableText(String(options.reason), 8_192)
    await resend(this.#clock, () => cancelRun(this.#database, id, reason))
    return await this.#require(id)
  }

  /**
   * Brings a failed or cancelled run back, with a new series of attempts. Kept answers stay; failures the handler went
   * past are dropped, so those steps run again.
   *
   * @throws KeyTakenError if another run has its key now; InvalidStateError if it has not failed nor been cancelled.
   */
  async retry(run: Which): Promise<RunView> {
    const { id, state, key } = await this.#require(run)
    const outcome = await retryRun(this.#database, id)
    if (outcome === 'key_taken') {
      throw new KeyTakenError(`The key ${JSON.stringify(key)} names another run now.`, {
        field: 'key',
        remedy: 'Start a new run, or wait for that one to end.',
      })
    }
    if (outcome !== 'retried') {
      throw new InvalidStateError(`Run ${id} is ${state}.`, {
        field: 'run',
        remedy: 'Only failed and cancelled runs can be retried.',
      })
    }
    return await this.#require(id)
  }

  /** Ends the client's own connections. A pool given to it stays open. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#ends.close()
    await this.#database.close()
  }

  async #waitFor(id: string, limitMs: number, abortSignal: AbortSignal | undefined): Promise<void> {
    const limit = new AbortController()
    const timer = this.#clock.after(limitMs, () => {
      limit.abort(new ResultTimeoutError(`Run ${id} has not ended after ${formatDuration(limitMs)}. It goes on.`))
    })
    try {
      await this.#ends.wait(id, AbortSignal.any(abortSignal ? [abortSignal, limit.signal] : [limit.signal]))
    } finally {
      timer.cancel()
    }
  }

  async #require(run: Which): Promise<RunView> {
    const view = await this.get(run)
    if (view) return view
    throw new NotFoundError(`There is no run ${typeof run === 'string' ? run : JSON.stringify(readWhich(run))}.`, {
      field: 'run',
      remedy: 'It may have been removed after its time, or be in another schema or database.',
    })
  }

  async #record(workflow: Workflow): Promise<void> {
    await this.#ready()
    await once(this.#recorded, workflow.definition.fingerprint + workflow.name, () =>
      resend(this.#clock, () => recordDefinitions(this.#database, [workflow])),
    )
  }

  async #ready(): Promise<void> {
    this.#requireOpen()
    this.#prepared ??= this.#prepare()
    try {
      await this.#prepared
    } catch (error) {
      this.#prepared = undefined
      throw error
    }
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new ClosedError('The client was closed.', { remedy: 'Create a new one.' })
  }
}

function outputOf(view: RunView): unknown {
  if (view.output instanceof UnserializableError) throw view.output
  if (view.state === 'done') return view.output
  const { id, reason, lastError: cause } = view
  const because = reason === undefined ? '' : `: ${reason}`
  if (view.state === 'cancelled') throw new RunCancelledError(`Run ${id} was cancelled${because}.`, id)
  const failure = view.failure ?? 'rejected'
  throw new RunFailedError(`Run ${id} of "${view.workflow}" failed (${failure})${because}`, failure, id, { cause })
}
