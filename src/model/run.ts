import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Answer, Directive } from './directive.ts'
import type { Logger } from './logger.ts'
import type { Duration, RetryPolicy } from './policy.ts'
import type { Schema } from './schema.ts'
import type { Signal } from './signal.ts'
import type { RunRef, Startable, StartArgs } from './start-item.ts'

/** What a step's body gets. */
export interface Step {
  /** The step's name and, from its second call on, its occurrence: `send`, `send#2`. */
  readonly key: string
  /** The same for every try of this step of this run, and for no other: hand it to APIs that take an idempotency key. */
  readonly idempotencyKey: string
  /** 1 for the first try of this attempt, then 2, 3 … under the step's own `retry`. */
  readonly try: number
  /** Aborts when the step or the claim times out, the lease is lost, the run is cancelled or the worker stops. */
  readonly abortSignal: AbortSignal
}

/** What `run.step` and `run.transaction` take after the body. */
export interface StepOptions<T = unknown> {
  /** Stored beside the answer and compared at replay; at most 64 KiB. Without it replay says "not compared". */
  args?: unknown
  /** Tries of this step alone. Steps do not retry by themselves. It spends no attempt of the run. */
  retry?: StepRetry | undefined
  /** How long one try may take. Default: no limit but the claim's. */
  timeout?: Duration | undefined
  /**
   * Undoes the step, should its run fail or be cancelled after it was kept: called with the kept answer, the last step's
   * first, in a run of its own that replays this one. It is tried under `retry`, by default ten times, and runs at least
   * once. `rollback` must be told the same from every replay: it is taken from the call that meets the memo.
   */
  rollback?: ((answer: T, step: Step) => unknown) | undefined
}

/** What `run.waitFor` takes. */
export interface WaitOptions {
  /** How long to wait before it is a WaitTimeoutError. Default: for ever. */
  timeout?: Duration | undefined
}

/** What `run.park` takes. */
export interface ParkOptions<SS extends Schema> extends WaitOptions {
  /** What a person is to decide, shown by `workflow parked`. At most 8192 characters. */
  reason: string
  /** What their answer must fit; one that does not parks the run again, with what is wrong. */
  schema: SS
}

/** What `run.call` and `run.start` take after the input: most of what `client.start` does. */
export interface ChildOptions {
  /** As of `client.start`: a key that names a run gives that run. */
  key?: string | undefined
  /** When it is due. Default: now. */
  at?: Date | undefined
  /** How long from now it is due. Default: none. */
  delay?: Duration | undefined
  /** Higher goes first. Default: the workflow's. */
  priority?: number | undefined
  /** Kept with the child. Default: {}. */
  metadata?: Record<string, string> | undefined
  /** Default: the workflow's. */
  maxAttempts?: number | undefined
  /** Whether a key that names a run of another input gives that run. Default: false. */
  allowDifferentInput?: boolean | undefined
  /** Whether it goes on when this run is cancelled. Default: false for `call`, true for `start`. */
  abandon?: boolean | undefined
}

/** What `run.map` takes. */
export interface MapOptions {
  /** How many items are under way at once. Default: 10. */
  concurrency?: number | undefined
}

/** How often one step is tried within one attempt of its run, and how long it waits in between. */
export interface StepRetry extends RetryPolicy {
  /** Default 3, at most 32767. */
  maxTries?: number | undefined
}

/** Anything with pg's `query(text, values)`: a pg client, or what an adapter makes of another library's transaction. */
export interface Queryable {
  // oxlint-disable-next-line typescript/no-explicit-any -- rows are whatever the caller's SQL makes them
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>
}

/** What a handler gets besides its input. */
export interface Run {
  readonly id: string
  readonly key: string | undefined
  readonly workflow: string
  readonly group: string | undefined
  /** 1 in the first handler. Counted when the run is claimed, before the handler runs. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly metadata: Readonly<Record<string, string>>
  /**
   * When this claim's lease is over unless it is renewed, by the database's clock. It is renewed by itself for as long as
   * the event loop turns.
   */
  readonly leaseExpiresAt: Date
  /** Aborts when the claim times out, the lease is lost, the run is cancelled or the worker stops. */
  readonly abortSignal: AbortSignal
  readonly log: Logger

  /**
   * Runs `fn` once and keeps its answer: the call returns only when the answer is durable, and every later claim of
   * this run gets it back without running `fn`. The answer is what the stored form decodes to, from the first run on.
   */
  step<T>(name: string, fn: (step: Step) => T, options?: StepOptions<Answer<T>>): Promise<Answer<T>>

  /**
   * Runs `fn` in a database transaction and keeps its answer in the same one: rows and answer commit together, once.
   * Serialization failures and dead locks (40001, 40P01) run it again.
   */
  transaction<T>(
    name: string,
    fn: (tx: Queryable, step: Step) => Promise<T>,
    options?: StepOptions<Answer<T>>,
  ): Promise<Answer<T>>

  /**
   * Goes on after so long, by the database's clock, counted from this call's first time. Until then the run is suspended:
   * it holds no slot and no memory, whatever happens to its worker.
   */
  sleep(name: string, duration: Duration): Promise<void>
  /** Goes on at that time; at once if it has passed. */
  sleepUntil(name: string, at: Date): Promise<void>

  /**
   * Waits for a signal that was sent to this run, before or after. Those of one name are taken in the order in which they
   * came, one by each wait.
   *
   * @throws WaitTimeoutError; InvalidSignalError for a payload that does not fit the schema.
   */
  waitFor<T>(signal: Signal<T>, options?: WaitOptions): Promise<T>
  waitFor<SS extends Schema>(
    signal: string,
    options: WaitOptions & { schema: SS },
  ): Promise<StandardSchemaV1.InferOutput<SS>>
  waitFor(signal: string, options?: WaitOptions): Promise<unknown>

  /** Waits for a person, who answers with `workflow unpark` or `client.unpark`. @throws WaitTimeoutError. */
  park<SS extends Schema>(name: string, options: ParkOptions<SS>): Promise<StandardSchemaV1.InferOutput<SS>>

  /**
   * Starts a run of another workflow, or of this one, and waits for its end. It is the same child on every replay; a cancel
   * of this run cancels it too.
   *
   * @throws ChildFailedError with the child's last error as `cause`; what `client.start` throws.
   */
  call<I, O>(workflow: Startable<I, O>, ...args: StartArgs<I, ChildOptions>): Promise<O>
  /** Starts a run and does not wait for it. Once, whatever happens; it outlives this run. */
  start<I, O>(workflow: Startable<I, O>, ...args: StartArgs<I, ChildOptions>): Promise<RunRef<O>>

  /**
   * Calls `fn` for each item, a few at once, and answers their answers in order. Calls on `run` inside have keys of their
   * item's, `import[17]/save`. After a failure no further item begins; those under way are waited for, then it is thrown.
   */
  map<T, R>(
    name: string,
    items: readonly T[],
    fn: (item: T, index: number) => Promise<R> | R,
    options?: MapOptions,
  ): Promise<R[]>

  /**
   * Which version of this place the run goes: `max` if it comes here for the first time now, 1 if it went past before the
   * place had versions. Kept. @throws VersionError for one that is not from `min` to `max` any more.
   */
  version(name: string, min: number, max: number): Promise<number>

  /** The time by this process's clock, kept: every replay gets the first answer. */
  now(): Promise<Date>
  /** A number in [0, 1), kept. */
  random(): Promise<number>
  /** A random UUID (version 4), kept. */
  uuid(): Promise<string>

  /** Shows where the run is, to `get` and the command line; the newest value wins. At most 64 KiB. */
  progress(value: unknown): void

  /**
   * Holds the claim for so long from now at least, at most the workflow's `maxLease`: before work that blocks the event
   * loop, during which nothing is renewed. Answers the lease's end.
   *
   * @throws LeaseLostError, DurationError.
   */
  extend(lease: Duration): Promise<Date>

  /** Run again after `after` (default: the workflow's backoff), as a counted attempt. */
  retry(after?: Duration, reason?: string): Directive
  /** Run again after `after`, not counted. */
  snooze(after: Duration, reason?: string): Directive
  /** Fail for good now. */
  fail(reason: string, options?: { cause?: unknown }): Directive
  /**
   * This run is done, and another one of the workflow begins with that input, under its key and with the signals that
   * nobody has taken: how a run that never ends keeps its record short. `client.result` and a waiting parent follow.
   */
  continueAs(input: unknown): Directive
}
