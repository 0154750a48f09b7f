import { decode, encode } from '../model/codec.ts'
import { Directive } from '../model/directive.ts'
import { LeaseLostError } from '../model/errors.ts'
import type { MemoKind, NewMemo, StoredOutcome } from '../model/journal.ts'
import { backoffMs } from '../model/retry.ts'
import type { Queryable, Step } from '../model/run.ts'
import { isNonRetryable, reviveError, storeError, type StoredError } from '../model/stored-error.ts'
import type { StepSpans } from '../trace/tracing.ts'
import { untracedStep } from '../trace/untraced.ts'
import type { Calls, CallsOptions } from './calls.ts'
import type { Place } from './deliveries.ts'
import type { Call } from './ledger.ts'
import type { Caller } from './scope.ts'
import { bounded, StepHandle } from './step-handle.ts'
import type { ResolvedStepOptions } from './step-options.ts'

/** The body of a step. One in a transaction may be run any number of times before its answer is kept, in the same. */
export type Body =
  | (Named & { readonly kind: 'plain'; readonly run: (step: Step) => unknown })
  | (Named & { readonly kind: 'transaction'; readonly run: (step: Step, tx: Queryable) => unknown })

interface Named {
  /** What its span is named after; undefined: it is none of the user's, and has no span. */
  readonly name: string | undefined
}

/** Longer waits between tries are spent suspended, so that they hold neither slot nor memory. */
const longestWaitInMemoryMs = 10_000

/** One call of a step that has no kept outcome: its tries, and what becomes of the last one. */
export class StepCall {
  readonly #calls: Calls
  readonly #call: Call
  readonly #options: ResolvedStepOptions
  readonly #body: Body
  readonly #caller: Caller
  readonly #passed: Promise<unknown> | undefined
  readonly #spans: StepSpans
  #place: Place | undefined
  #tries: number
  #beganAt: number
  /** Whether the body or the journal is to blame for what is thrown: a body may throw another run's LeaseLostError. */
  #isInBody = false

  constructor(calls: Calls, call: Call, options: ResolvedStepOptions, body: Body, caller: Caller, isAside: boolean) {
    this.#calls = calls
    this.#call = call
    this.#options = options
    this.#body = body
    this.#caller = caller
    this.#tries = call.pendingTry?.tries ?? 0
    this.#beganAt = calls.options.clock.monotonic()
    this.#spans = body.name === undefined ? untracedStep : calls.options.trace.step(body.name, call.key)
    // By this call the handler has gone past every failure it has met.
    this.#passed = isAside ? undefined : calls.failures.keepPassed()
    this.#passed?.catch(() => undefined)
  }

  /** All its tries, up to the one whose outcome it has, or until it waits for longer than this claim lasts. */
  async run(): Promise<void> {
    const { underWay } = this.#calls
    const { claimBeganAt, clock, journal, runId, scope } = this.#calls.options
    const { pendingTry } = this.#call
    const body = this.#body
    let delayMs = pendingTry && pendingTry.waitMs - (this.#beganAt - claimBeganAt)
    if (delayMs !== undefined && delayMs > longestWaitInMemoryMs) {
      return this.#caller.wait({ wakeAt: this.#beganAt + delayMs, tried: undefined })
    }
    for (;;) {
      if (delayMs !== undefined) await clock.sleep(delayMs, scope.abortSignal)
      try {
        if (this.#passed) await this.#passed
        if (!scope.isOpen) return
        this.#tries += 1
        this.#isInBody = false
        this.#beganAt = clock.monotonic()
        const step = new StepHandle(this.#call.key, runId, this.#tries, scope)
        const span = this.#spans.begin(this.#tries)
        underWay.begin()
        try {
          const stored =
            body.kind === 'plain'
              ? await journal.keep(await this.#make(step, () => span.within(() => body.run(step))))
              : await journal.transact((tx) => this.#make(step, () => span.within(() => body.run(step, tx))))
          span.end(clock.monotonic() - this.#beganAt)
          return this.#taken.hand(() => handOut(stored, this.#calls.options, this.#caller))
        } catch (thrown) {
          span.end(clock.monotonic() - this.#beganAt, { thrown })
          throw thrown
        } finally {
          underWay.end()
        }
      } catch (thrown) {
        delayMs = this.#caught(thrown)
        if (delayMs === undefined) return
      }
    }
  }

  /** Answers how long to wait in memory before the next try; undefined: there is none, or not in this claim. */
  #caught(thrown: unknown): number | undefined {
    const { onLost, scope } = this.#calls.options
    if (!this.#isInBody && thrown instanceof LeaseLostError) onLost(thrown)
    else if (!this.#isInBody && !scope.isOpen) return undefined
    else if (Directive.steerOf(thrown)) this.#taken.hand(() => this.#caller.reject(thrown))
    else return this.#afterFailure(thrown)
    return undefined
  }

  async #make(step: StepHandle, body: () => unknown): Promise<NewMemo> {
    const { clock, log, scope } = this.#calls.options
    const { key } = this.#call
    scope.requireOpen()
    this.#isInBody = true
    const enter = (): unknown => this.#calls.underWay.enter(key, body)
    const { timeoutMs } = this.#options
    const answer = await (timeoutMs === undefined ? enter() : bounded(step, timeoutMs, clock, log, enter))
    if (Directive.steerOf(answer)) throw answer as Directive
    const { json, types } = encode(answer, `the answer of step "${key}"`)
    this.#isInBody = false
    // What a transaction made before it was undone keeps nobody waiting while it runs again.
    this.#withdraw()
    return this.#memo('answer', json, types)
  }

  #afterFailure(thrown: unknown): number | undefined {
    const { clock, definition, scope, trace } = this.#calls.options
    const { retry, maxTries } = this.#options
    const nonRetryable = [...(retry?.nonRetryable ?? []), ...definition.retry.nonRetryable]
    const error = storeError(thrown, { nonRetryable })
    if (retry && this.#tries < maxTries && scope.isOpen && !isNonRetryable(thrown, nonRetryable)) {
      this.#withdraw()
      const retryMs = backoffMs(retry, this.#tries, () => clock.random())
      if (retryMs <= longestWaitInMemoryMs) return retryMs
      const tried = { key: this.#call.key, tries: this.#tries, error }
      this.#caller.wait({ wakeAt: clock.monotonic() + retryMs, tried })
      return undefined
    }
    const failure = this.#calls.failures.add(this.#memo('failure', JSON.stringify(error), null), error)
    this.#taken.hand(() => {
      failure.isHanded = true
      const revived = reviveError(error, definition.errors)
      trace.know(revived)
      this.#caller.reject(revived)
    })
    return undefined
  }

  #memo(kind: MemoKind, value: string, types: string | null): NewMemo {
    return {
      key: this.#call.key,
      kind,
      value,
      types,
      seq: this.#taken.seq,
      ordinal: this.#call.ordinal,
      tries: this.#tries,
      durationMs: this.#calls.options.clock.monotonic() - this.#beganAt,
      args: this.#options.args,
      hasRollback: kind === 'answer' && this.#options.rollback !== undefined ? true : undefined,
    }
  }

  /** The outcome's place in the order, taken when it is first made. */
  get #taken(): Place {
    return (this.#place ??= this.#calls.deliveries.make())
  }

  #withdraw(): void {
    this.#place?.withdraw()
    this.#place = undefined
  }
}

/** The handler gets an outcome as it is stored, from the first run on, so that every replay branches alike. */
export function handOut(
  stored: StoredOutcome,
  { definition, trace }: Pick<CallsOptions, 'definition' | 'trace'>,
  caller: Caller,
): void {
  try {
    if (stored.kind === 'answer') return caller.resolve(decode(stored.value, stored.types))
    const revived = reviveError(JSON.parse(stored.value) as StoredError, definition.errors)
    trace.know(revived)
    caller.reject(revived)
  } catch (error) {
    caller.reject(error)
  }
}
