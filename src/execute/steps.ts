import { AsyncResource } from 'node:async_hooks'
import { ArgumentError } from '../model/errors.ts'
import type { NewMemo } from '../model/journal.ts'
import type { TriedStep } from '../model/outcome.ts'
import type { Queryable, Step, StepOptions } from '../model/run.ts'
import { Sequence } from './deliveries.ts'
import { Frame } from './frame.ts'
import { checkStepName, Ledger, type Call } from './ledger.ts'
import { handOut, StepCall, type Deed, type StepsOptions, type Surroundings } from './step-call.ts'
import { noStepOptions, readStepOptions, type ResolvedStepOptions } from './step-options.ts'
import { UnderWay } from './under-way.ts'

/** The steps of one claim: recalls what was kept, and runs what was not. */
export class Steps {
  readonly underWay: UnderWay = new UnderWay()
  readonly #around: Surroundings
  readonly #ledger: Ledger
  readonly #handler: Frame

  constructor(options: StepsOptions) {
    const { journal, definition, clock, scope } = options
    this.#ledger = new Ledger(journal.memos, journal.tries, definition.maxSteps)
    const sequence = new Sequence(this.#ledger.lastSeq)
    this.#handler = new Frame({ journal, ledger: this.#ledger, sequence, clock, scope })
    this.#around = { ...options, underWay: this.underWay, claimBeganAt: clock.monotonic() }
  }

  get recalled(): number {
    return this.#ledger.recalled
  }

  /** Failures the handler has met and that are not kept yet. */
  get passedFailures(): readonly NewMemo[] {
    return this.#handler.failures.passed
  }

  get tried(): readonly TriedStep[] {
    return this.#handler.failures.tried
  }

  step(name: string, fn: (step: Step) => unknown, options?: StepOptions): Promise<unknown> {
    const { journal } = this.#around
    return this.#named(name, options, {
      isTransaction: false,
      perform: async (step, make) => journal.keep(await make(() => fn(step))),
    })
  }

  transaction(
    name: string,
    fn: (tx: Queryable, step: Step) => Promise<unknown>,
    options?: StepOptions,
  ): Promise<unknown> {
    const { journal } = this.#around
    return this.#named(name, options, {
      isTransaction: true,
      perform: (step, make) => journal.transact((tx) => make(() => fn(tx, step))),
    })
  }

  /** A value of our own making (now, random, uuid). Its name holds brackets, which no user's step name may. */
  value(name: string, make: () => unknown): Promise<unknown> {
    const { journal } = this.#around
    const perform: Deed['perform'] = async (_, memo) => journal.keep(await memo(make))
    return this.#call(name, noStepOptions, { isTransaction: false, perform })
  }

  #named(name: string, options: StepOptions | undefined, deed: Deed): Promise<unknown> {
    let read: ResolvedStepOptions
    const { side, isInTransaction } = this.#handler.current()
    try {
      checkStepName(name)
      read = readStepOptions(options)
      if (deed.isTransaction && isInTransaction) throw transactionInside(name)
    } catch (error) {
      return this.#around.scope.call(side, String(name), (caller) => caller.reject(error))
    }
    return this.#call(name, read, deed)
  }

  #call(name: string, options: ResolvedStepOptions, deed: Deed): Promise<unknown> {
    const { scope, definition, log } = this.#around
    const frame = this.#handler.current()
    return scope.call(frame.side, name, (caller) => {
      let call: Call
      try {
        call = this.#ledger.open(frame.nextCall(name))
      } catch (error) {
        return caller.reject(error)
      }
      if (this.#ledger.isHalfFull) log.warn({ maxSteps: definition.maxSteps }, 'Half of maxSteps is used.')
      const { memo } = call
      if (memo) return frame.deliveries.recall(memo.seq, () => handOut(memo, definition, caller))
      const stepCall = new StepCall(this.#around, frame, call, options, deed, caller)
      const body = (): void => void stepCall.run()
      // A body that has to wait for its turn still runs in its caller's async context.
      frame.deliveries.start(body, () => AsyncResource.bind(body))
    })
  }
}

function transactionInside(name: string): ArgumentError {
  return new ArgumentError(`The transaction "${name}" was called for inside another one's body.`, {
    field: 'name',
    remedy:
      'Use the tx that is there, or call it beside the other: two connections could wait for each other for ever.',
  })
}
