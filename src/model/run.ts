import type { Answer, Directive } from './directive.ts'
import type { Logger } from './logger.ts'
import type { Duration, RetryPolicy } from './policy.ts'

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
export interface StepOptions {
  /** Stored beside the answer and compared at replay; at most 64 KiB. Without it replay says "not compared". */
  args?: unknown
  /** Tries of this step alone. Steps do not retry by themselves. It spends no attempt of the run. */
  retry?: StepRetry | undefined
  /** How long one try may take. Default: no limit but the claim's. */
  timeout?: Duration | undefined
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
  step<T>(name: string, fn: (step: Step) => T, options?: StepOptions): Promise<Answer<T>>

  /**
   * Runs `fn` in a database transaction and keeps its answer in the same one: rows and answer commit together, once.
   * Serialization failures and dead locks (40001, 40P01) run it again.
   */
  transaction<T>(name: string, fn: (tx: Queryable, step: Step) => Promise<T>, options?: StepOptions): Promise<Answer<T>>

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
}
