import type { Database } from '../db/database.ts'
import {
  parseCancelOptions,
  parseResultOptions,
  parseRetryOptions,
  parseWatchOptions,
  type CancelOptions,
  type ResultOptions,
  type RetryOptions,
  type StartManyOptions,
  type WatchOptions,
} from '../define/call-options.ts'
import type { NackOptions, ReserveOptions } from '../define/hand-options.ts'
import type { SendOptions, UnparkOptions } from '../define/message-options.ts'
import type { ListFilter } from '../define/list-filter.ts'
import type { StartOptions } from '../define/start-options.ts'
import type { Clock } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import type { Duration } from '../model/policy.ts'
import type { Signal } from '../model/signal.ts'
import type { Startable, StartArgs } from '../model/start-item.ts'
import type { ClientTelemetry } from '../trace/tracing.ts'
import { untraced } from '../trace/untraced.ts'
import { ByHand, type Reserved } from './by-hand.ts'
import type { Info } from './info.ts'
import { Messenger, type Parked } from './messenger.ts'
import { Readiness } from './readiness.ts'
import { Reader, type Page } from './reader.ts'
import { RunWatch } from './run-watch.ts'
import type { RunView } from './run-view.ts'
import { requireWorkflow, type Started } from '../define/make-start.ts'
import { ManyStarter, type StartedOrError, type StartManyItem } from './start-many.ts'
import { Starter } from './starter.ts'
import { Steerer } from './steerer.ts'
import { Waiter } from './waiter.ts'
import type { Which } from './which.ts'
import type { Why } from './why.ts'

export interface ClientCoreOptions {
  readonly database: Database
  readonly clock: Clock
  /** Gets a line when a start met connection loss and is sent again. Default: none. */
  readonly log?: Logger | undefined
  /** Default: none. */
  readonly telemetry?: ClientTelemetry | undefined
  /** The address of a trace, with {traceId} and {spanId} in it. */
  readonly traceUrl?: string | undefined
  /** Sees that the schema is there. Runs once, before the first call that needs it. */
  readonly prepare: () => Promise<void>
}

/** Starts runs and asks about them. It needs no worker in its process. */
export class Client {
  readonly #database: Database
  readonly #readiness: Readiness
  readonly #starter: Starter
  readonly #many: ManyStarter
  readonly #reader: Reader
  readonly #steerer: Steerer
  readonly #messenger: Messenger
  readonly #watch: RunWatch
  readonly #waiter: Waiter
  readonly #hand: ByHand

  constructor({ database, clock, prepare, log, telemetry = untraced, traceUrl }: ClientCoreOptions) {
    this.#database = database
    this.#readiness = new Readiness(database, clock, prepare)
    this.#starter = new Starter(database, clock, telemetry, log)
    this.#many = new ManyStarter(this.#starter, clock, telemetry)
    this.#reader = new Reader(database, clock, () => this.#readiness.ready(), traceUrl)
    this.#steerer = new Steerer(database, clock, this.#reader)
    this.#messenger = new Messenger(database, clock, this.#reader)
    this.#watch = new RunWatch(database, clock)
    this.#waiter = new Waiter(this.#reader, this.#watch, clock)
    this.#hand = new ByHand(database, clock, () => this.#readiness.ready(), this.#readiness.closing)
  }

  /** The database of a client that a worker is to share. */
  static databaseOf(client: Client): Database {
    return client.#database
  }

  /** Sees that the schema is there, in the way this client was told to. */
  static async prepare(client: Client): Promise<void> {
    await client.#readiness.ready()
  }

  /**
   * Starts a run. When it returns, the run survives the death of every process. With `tx` it exists if and only if that
   * transaction commits.
   * @throws InvalidInputError, UnserializableError, PayloadTooLargeError, ArgumentError: nothing was written.
   * @throws KeyReusedError if the key names a run with another input; QueueFullError past the workflow's `maxWaiting`.
   */
  async start<I, O>(workflow: Startable<I, O>, ...[input, options]: StartArgs<I, StartOptions>): Promise<Started<O>> {
    const given: unknown = workflow
    requireWorkflow(given, 'start')
    this.#readiness.requireOpen()
    const started = await this.#starter.start(given, input, options, () => this.#readiness.record(given))
    return started as Started<O>
  }

  /**
   * Starts a run for each item, which is `{ input }` and the options of `start`. By default all of them start or, if one
   * is refused, none; with `mode: 'each'` the answer has an `error` in the place of each that was refused.
   *
   * @throws What `start` throws; `field` names the item, as in `items[3].key`.
   */
  startMany<I, O>(
    workflow: Startable<I, O>,
    items: readonly StartManyItem<I>[],
    options?: StartManyOptions & { mode?: 'all' | undefined },
  ): Promise<Started<O>[]>
  startMany<I, O>(
    workflow: Startable<I, O>,
    items: readonly StartManyItem<I>[],
    options: StartManyOptions & { mode: 'each' },
  ): Promise<StartedOrError<O>[]>
  async startMany(workflow: unknown, items: readonly unknown[], options?: StartManyOptions): Promise<unknown> {
    requireWorkflow(workflow, 'startMany')
    this.#readiness.requireOpen()
    return await this.#many.start(workflow, items, options, () => this.#readiness.record(workflow))
  }

  /** The run as it is now; undefined if there is none. @throws ArgumentError for what cannot name one. */
  async get(run: Which): Promise<RunView | undefined> {
    return (await this.#reader.find(run))?.view
  }

  /** A page of runs, newest first (by their ids, if you made them). Its `cursor` leads to the next. */
  async list(filter?: ListFilter): Promise<Page<RunView>> {
    return await this.#reader.list(filter)
  }

  /**
   * The run now, then as it is after each change, until it is done, failed or cancelled. Changes that follow each other
   * quickly may come as one. @throws NotFoundError; what `abortSignal` was aborted with.
   */
  async *watch(run: Which, options?: WatchOptions): AsyncGenerator<RunView, void, undefined> {
    const { abortSignal } = parseWatchOptions(options)
    yield* this.#waiter.watch(run, abortSignal)
  }

  /**
   * Waits for the run's end and answers its output.
   * @throws RunFailedError with `failure` and the last error as `cause`; RunCancelledError; NotFoundError;
   *   ResultTimeoutError past `timeout`.
   */
  async result<O>(run: Which<O>, options?: ResultOptions): Promise<O> {
    const { timeout, abortSignal } = parseResultOptions(options)
    return (await this.#waiter.result(run, timeout, abortSignal)) as O
  }

  /**
   * Sends a signal to a run, which `run.waitFor` receives once: before the run waits for it or after, and even before the
   * run is there, for 24 hours. With `tx` it is sent if and when that commits.
   *
   * @throws RunEndedError; InvalidSignalError for a payload that does not fit the signal's schema; ArgumentError.
   */
  async signal<T, I>(
    run: Which,
    signal: Signal<T, I> | string,
    payload: NoInfer<I>,
    options?: SendOptions,
  ): Promise<void> {
    this.#readiness.requireOpen()
    await this.#messenger.signal(run, signal, payload, options, () => this.#readiness.ready())
  }

  /**
   * Answers what a parked run waits for; an answer that does not fit parks it again.
   * @throws NotFoundError; InvalidStateError if it is not parked; ArgumentError if it is parked at several steps.
   */
  async unpark(run: Which, answer: unknown, options?: UnparkOptions): Promise<void> {
    await this.#messenger.unpark(run, answer, options)
  }

  /** Runs that wait for a person, those that have waited longest first; at most 1,000. */
  async parked(filter: { workflow?: string | undefined } = {}): Promise<Parked[]> {
    await this.#readiness.ready()
    return await this.#messenger.parked(filter.workflow)
  }

  /**
   * Cancels a run that has not ended, or the one as which it goes on; one that has ended stays as it is. A running handler's
   * `abortSignal` aborts. Answers that run; with `tx` the one named, as it is before the commit. @throws NotFoundError.
   */
  async cancel(run: Which, options?: CancelOptions): Promise<RunView> {
    const { reason, tx } = parseCancelOptions(options)
    return await this.#steerer.cancel(run, reason, tx)
  }

  /**
   * Brings a failed or cancelled run back under its id, with a new series of attempts. Kept answers stay; failures the
   * handler went past are dropped, so those steps run again.
   * @throws NotFoundError; KeyTakenError if another run has its key now; InvalidStateError if it neither failed nor was
   *   cancelled, or the time for which it is kept is over.
   */
  async retry(run: Which, options?: RetryOptions): Promise<RunView> {
    const { fresh } = parseRetryOptions(options)
    return await this.#steerer.retry(run, fresh)
  }

  /**
   * Removes a run that ended ten minutes ago or more, and longer than its workflow's `dedupe` if it has a key. False:
   * there is none. @throws InvalidStateError if it has not ended, or not long enough ago.
   */
  async delete(run: Which): Promise<boolean> {
    return await this.#steerer.delete(run)
  }

  /**
   * Why a run does not go on: its place in line, and what holds it back, such as a full group and who fills it.
   * @throws NotFoundError.
   */
  async why(run: Which): Promise<Why> {
    return await this.#reader.why(run)
  }

  /** What lives and what waits, at a glance. */
  async info(): Promise<Info> {
    return await this.#reader.info()
  }

  /** Claims due runs by hand, without a worker. Tell their ends with `ack` and `nack`. */
  async reserve(options: ReserveOptions): Promise<Reserved[]> {
    return await this.#hand.reserve(options)
  }

  /** Ends a reserved run as done. @throws LeaseLostError if its lease was over; stop working on it. */
  async ack(reserved: Reserved, output?: unknown): Promise<void> {
    await this.#hand.ack(reserved, output)
  }

  /** Gives a reserved run back as failed: due again, or failed for good. @throws LeaseLostError as `ack` does. */
  async nack(reserved: Reserved, options?: NackOptions): Promise<void> {
    await this.#hand.nack(reserved, options)
  }

  /** Holds a reserved run for so long from now, at most its workflow's `maxLease`. Answers the lease's new end. */
  async extend(reserved: Reserved, lease: Duration): Promise<Date> {
    return await this.#hand.extend(reserved, lease)
  }

  /** Ends the client's own connections. A pool given to it stays open. */
  async close(): Promise<void> {
    this.#readiness.close()
    await this.#watch.close()
    await this.#database.close()
  }
}
