import { AsyncResource } from 'node:async_hooks'
import { ArgumentError } from '../model/errors.ts'
import type { NewMemo } from '../model/journal.ts'
import type { TriedStep } from '../model/outcome.ts'
import type { Queryable, Step, StepOptions } from '../model/run.ts'
import { Deliveries } from './deliveries.ts'
import { Failures } from './failures.ts'
import { checkStepName, Ledger, type Call } from './ledger.ts'
import { handOut, StepCall, type Body, type StepsOptions, type Surroundings } from './step-call.ts'
import { noStepOptions, readStepOptions, type ResolvedStepOptions } from './step-options.ts'
import { UnderWay } from './under-way.ts'

/** The steps of one claim: recalls what was kept, and runs what was not. */
export class Steps {
  readonly underWay: UnderWay = new UnderWay()
  readonly #around: Surroundings
  readonly #ledger: Ledger
  readonly #deliveries: Deliveries
  readonly #failures: Failures

  constructor(options: StepsOptions) {
    const { definition, runId, journal, scope, clock, log, claimBeganAt, onLost } = options
    this.#ledger = new Ledger(journal.memos, journal.tries, definition.maxSteps)
    this.#deliveries = new Deliveries(clock, scope, this.#ledger.lastSeq)
    this.#failures = new Failures(journal)
    // Named one by one: a spread costs more than all the rest of a claim's first step.
    this.#around = {
      definition,
      runId,
      journal,
      scope,
      clock,
      log,
      claimBeganAt,
      onLost,
      deliveries: this.#deliveries,
      failures: this.#failures,
      underWay: this.underWay,
    }
  }

  get recalled(): number {
    return this.#ledger.recalled
  }

  /** Failures the handler has met and that are not kept yet. */
  get passedFailures(): readonly NewMemo[] {
    return this.#failures.passed
  }

  get tried(): readonly TriedStep[] {
    return this.#failures.tried
  }

  step(name: string, fn: (step: Step) => unknown, options?: StepOptions): Promise<unknown> {
    return this.#named(name, options, { kind: 'plain', run: fn })
  }

  transaction(
    name: string,
    fn: (tx: Queryable, step: Step) => Promise<unknown>,
    options?: StepOptions,
  ): Promise<unknown> {
    return this.#named(name, options, { kind: 'transaction', run: (step, tx) => fn(tx, step) })
  }

  /** A value of our own making (now, random, uuid). Its name holds brackets, which no user's step name may. */
  value(name: string, make: () => unknown): Promise<unknown> {
    return this.#call(name, noStepOptions, { kind: 'plain', run: make })
  }

  #named(name: string, options: StepOptions | undefined, body: Body): Promise<unknown> {
    let read: ResolvedStepOptions
    try {
      checkStepName(name)
      read = readStepOptions(options)
    } catch (error) {
      return this.#around.scope.call(String(name), (caller) => caller.reject(error))
    }
    return this.#call(name, read, body)
  }

  #call(name: string, options: ResolvedStepOptions, body: Body): Promise<unknown> {
    const { scope, definition, log } = this.#around
    return scope.call(name, (caller) => {
      let call: Call
      try {
        this.#refuseInside(name)
        call = this.#ledger.open(name)
      } catch (error) {
        return caller.reject(error)
      }
      if (this.#ledger.isHalfFull) log.warn({ maxSteps: definition.maxSteps }, 'Half of maxSteps is used.')
      const { memo } = call
      if (memo) return this.#deliveries.recall(memo.seq, () => handOut(memo, definition, caller))
      const stepCall = new StepCall(this.#around, call, options, body, caller)
      const begin = (): void => void stepCall.run()
      // A body that has to wait for its turn still runs in its caller's async context.
      this.#deliveries.start(begin, () => AsyncResource.bind(begin))
    })
  }

  /**
   * A replay does not run the body of a kept step, so what a body calls would be missed there. It is refused where it
   * is seen: in the part of a body before its first await.
   */
  #refuseInside(name: string): void {
    const { entered } = this.underWay
    if (entered === undefined) return
    throw new ArgumentError(`"${name}" was called on run inside the body of step "${entered}".`, {
      field: 'name',
      remedy: 'Call it in the handler, before or after that step.',
    })
  }
}
