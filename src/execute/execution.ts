import { parseInput } from '../define/parse-schema.ts'
import type { Claim, Lease } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'
import { decode } from '../model/codec.ts'
import type { Directive } from '../model/directive.ts'
import { formatDuration } from '../model/duration.ts'
import {
  ClosedError,
  InvalidInputError,
  LeaseLostError,
  RunCancelledError,
  TimeoutError,
  type LeaseLostReason,
  type MismatchError,
} from '../model/errors.ts'
import type { Journal, Memo } from '../model/journal.ts'
import type { Logger } from '../model/logger.ts'
import type { Ending, Outcome } from '../model/outcome.ts'
import { storeError } from '../model/stored-error.ts'
import type { Definition } from '../model/workflow.ts'
import type { HandlerSpan } from '../trace/tracing.ts'
import type { CallsOptions } from './calls.ts'
import { backoff, outcomeOfThrown, outcomeOfValue, sooner } from './outcome-of.ts'
import { createRunHandle } from './run-handle.ts'
import { Scope } from './scope.ts'
import { Mismatch } from './mismatch.ts'
import { Operations } from './operations.ts'
import { undo } from './undo.ts'

/**
 * One claim: history + handler -> outcome. It knows no database and no process: it sees only the Journal, the clock and
 * the log, so that a replay is this same code on a recorded journal.
 *
 * It ends at the first of: the handler's end, being at rest with a wait open, a time limit, or an interruption. Nothing
 * the handler does after that has any effect.
 */

export interface ExecutionOptions {
  readonly definition: Definition
  readonly claim: Claim
  readonly journal: Journal
  readonly lease: Lease
  readonly clock: Clock
  readonly log: Logger
  readonly trace: HandlerSpan
}

/** What ends a claim from outside. */
export type Interruption =
  | { readonly kind: 'lost'; readonly reason: LeaseLostReason }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'released' }

const keepsFailures: ReadonlySet<Outcome['kind']> = new Set(['done', 'continued', 'failed', 'suspended'])

/** How long a handler that has ended waits for steps of its that are under way. */
const longestLastStepsMs = 10_000

export class Execution {
  readonly #options: ExecutionOptions
  readonly #scope: Scope
  readonly #ending: Promise<Ending>
  readonly #directives = new Set<Directive>()
  readonly #beganAt: number
  /** Made by the first call on `run`: many handlers make none. */
  #made: Operations | undefined
  /** What the handler answered, while steps of its are still under way. */
  #answered: Outcome | undefined
  #mismatch: Mismatch | undefined
  #resolve: (ending: Ending) => void = () => undefined

  constructor(options: ExecutionOptions) {
    const { clock, log } = options
    this.#options = options
    this.#beganAt = clock.monotonic()
    this.#ending = new Promise((resolve) => void (this.#resolve = resolve))
    this.#scope = new Scope(clock, log, (wakeMs) => this.#rest(wakeMs))
  }

  /** Runs the handler. Never rejects. */
  async run(): Promise<Ending> {
    const { definition, claim, clock } = this.#options
    const deadlineMs = claim.deadlineMs ?? Infinity
    const limitMs = Math.min(definition.timeoutMs, deadlineMs)
    const runOut = (): void => this.#runOut(deadlineMs <= definition.timeoutMs)
    const timer = clock.after(limitMs, runOut, true)
    void this.#options.trace
      .within(() => this.#handle())
      .then((outcome) => {
        // A handler that blocks the event loop ends before the timer can say that it is late.
        if (clock.monotonic() - this.#beganAt >= limitMs && outcome.kind !== 'failed') runOut()
        else void this.#finish(outcome)
      })
    try {
      return await this.#ending
    } finally {
      timer.cancel()
    }
  }

  interrupt(interruption: Interruption): void {
    const { claim } = this.#options
    if (interruption.kind === 'lost') {
      const { reason } = interruption
      const error = new LeaseLostError(`The lease on run ${claim.id} was lost (${reason}).`, reason)
      this.#stop({ kind: 'lost', reason }, error)
    } else if (interruption.kind === 'cancelled') {
      this.#stop({ kind: 'lost', reason: 'cancelled' }, new RunCancelledError('The run was cancelled.', claim.id))
    } else {
      this.#stop({ kind: 'released' }, new ClosedError('The worker is stopping; the run goes on elsewhere.'))
    }
  }

  /** Signals may have come for it. */
  hear(): void {
    this.#made?.waits.hear()
  }

  /** What was kept of earlier claims and the handler has not come to. */
  get unread(): readonly Memo[] {
    return this.#options.journal.memos.length === 0 ? [] : this.#operations.calls.ledger.unread
  }

  get #operations(): Operations {
    return (this.#made ??= new Operations(this.#callsOptions()))
  }

  #callsOptions(): CallsOptions {
    const { definition, claim, journal, clock, log, trace } = this.#options
    // Spreading the options instead takes a noticeable part of a small claim's time.
    return {
      definition,
      journal,
      clock,
      log,
      trace,
      runId: claim.id,
      retries: claim.retries,
      scope: this.#scope,
      claimBeganAt: this.#beganAt,
      onLost: (error) => this.#stop({ kind: 'lost', reason: error.reason }, error),
      onMismatch: (error) => this.#meet(error),
    }
  }

  async #handle(): Promise<Outcome> {
    const { definition, claim, clock, trace, journal, lease, log } = this.#options
    const context = { definition, claim, clock, trace, directives: this.#directives }
    let input: unknown
    try {
      input = await parseInput(definition, decode(claim.input.json, claim.input.types))
    } catch (thrown) {
      const error = storeError(thrown)
      if (!(thrown instanceof InvalidInputError)) return await outcomeOfThrown(context, thrown)
      return { kind: 'failed', failure: 'invalid', reason: error.message, error }
    }
    const run = createRunHandle({
      claim,
      journal,
      lease,
      clock,
      log,
      scope: this.#scope,
      operations: () => this.#operations,
      onDirective: (directive) => this.#directives.add(directive),
      onLost: (error) => this.#stop({ kind: 'lost', reason: error.reason }, error),
    })
    const { undone } = claim
    try {
      if (undone) {
        const undoing = await undo(
          { ...this.#options, undone, input, run, calls: this.#callsOptions() },
          this.#operations,
        )
        // What undoes a run has an output of its own.
        return await outcomeOfValue({ ...context, definition: { ...definition, output: undefined } }, undoing)
      }
      return await outcomeOfValue(context, await definition.handler(input as never, run))
    } catch (thrown) {
      return await outcomeOfThrown(context, thrown)
    }
  }

  /** At rest with a wait open. */
  #rest(wakeMs: number | undefined): void {
    this.#made?.calls.checkAtRest()
    const isParked = this.#made?.waits.isParked ?? false
    if (!this.#mismatch?.isFinal) this.#end({ kind: 'suspended', wakeMs, isParked })
  }

  #meet(error: MismatchError): void {
    this.#mismatch ??= new Mismatch(this.#options, this.#scope, (outcome, refusal) => this.#stop(outcome, refusal))
    this.#mismatch.meet(error, this.#operations.calls.deliveries)
  }

  #runOut(isDeadline: boolean): void {
    const { definition, claim, clock } = this.#options
    const limit = isDeadline ? 'its deadline' : `the timeout of ${formatDuration(definition.timeoutMs)}`
    const timeout = new TimeoutError(`The run was not done within ${limit}.`)
    const reason = timeout.message
    const error = storeError(timeout)
    if (isDeadline) this.#stop({ kind: 'failed', failure: 'deadline', reason, error }, timeout)
    else {
      const delayMs = backoff({ definition, claim, clock })
      this.#stop({ kind: 'retry', delayMs, reason, error, ifLast: 'timeout' }, timeout)
    }
  }

  /**
   * The handler has ended. If the run is to go on, or to be undone, what its other steps are doing counts: they get a
   * while to end and to be kept, instead of being done twice.
   */
  async #finish(outcome: Outcome): Promise<void> {
    const { clock, log } = this.#options
    if (!this.#scope.isOpen) return
    this.#scope.close()
    const underWay = this.#made?.calls.underWay
    if (outcome.kind === 'done' || outcome.kind === 'continued' || !underWay?.count) return this.#end(outcome)
    this.#answered = outcome
    const beganAt = clock.monotonic()
    const enough = new AbortController()
    await Promise.race([underWay.none(), clock.sleep(longestLastStepsMs, enough.signal)])
    enough.abort()
    if (underWay.count > 0 && !this.#scope.isOver) {
      log.warn({ steps: underWay.count }, 'The handler ended beside steps that go on; what they answer is not kept.')
    }
    this.#end(sooner(outcome, clock.monotonic() - beganAt))
  }

  /** Something else than the handler ends the claim. Calls on `run` are refused from now on. */
  #stop(outcome: Outcome, refusal: Error): void {
    this.#end(outcome.kind === 'lost' ? outcome : (this.#answered ?? outcome), refusal)
  }

  #end(outcome: Outcome, refusal?: Error): void {
    if (this.#scope.isOver) return
    this.#scope.end(refusal)
    const calls = this.#made?.calls
    this.#made?.waits.close()
    // At rest, too, the handler has gone past every failure it has met.
    const passed = calls && keepsFailures.has(outcome.kind) ? calls.failures.passed : []
    const tried = calls ? calls.failures.tried.filter((step) => !passed.some((memo) => memo.key === step.key)) : []
    this.#resolve({
      outcome,
      recalled: calls?.ledger.recalled ?? 0,
      failures: passed,
      tries: [...tried, ...this.#scope.triedWaits],
    })
  }
}
