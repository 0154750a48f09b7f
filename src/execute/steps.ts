import { checkName } from '../define/define-signal.ts'
import type { Memo } from '../model/journal.ts'
import type { Queryable, Step, StepOptions } from '../model/run.ts'
import type { Calls } from './calls.ts'
import { handOut, StepCall, type Body } from './step-call.ts'
import { noStepOptions, readStepOptions, type ResolvedStepOptions } from './step-options.ts'

/** A kept step that can be undone. */
export interface Undoable {
  readonly memo: Memo
  readonly options: ResolvedStepOptions
}

/** The steps of one claim: recalls what was kept, and runs what was not. */
export class Steps {
  readonly #calls: Calls
  readonly #onUndoable: ((undoable: Undoable) => void) | undefined

  constructor(calls: Calls, onUndoable?: (undoable: Undoable) => void) {
    this.#calls = calls
    this.#onUndoable = onUndoable
  }

  step(name: string, fn: (step: Step) => unknown, options?: StepOptions<never>): Promise<unknown> {
    return this.#named(name, options, { kind: 'plain', name, run: fn })
  }

  transaction(
    name: string,
    fn: (tx: Queryable, step: Step) => Promise<unknown>,
    options?: StepOptions<never>,
  ): Promise<unknown> {
    return this.#named(name, options, { kind: 'transaction', name, run: (step, tx) => fn(tx, step) })
  }

  /** A value of our own making (now, random, uuid). Its name holds brackets, which no user's step name may. */
  value(name: string, make: () => unknown): Promise<unknown> {
    return this.call(name, noStepOptions, { kind: 'plain', name: undefined, run: make })
  }

  /** `name` as it is: it may be the key of another run's step. */
  call(name: string, options: ResolvedStepOptions, body: Body, isAside = false): Promise<unknown> {
    return this.#calls.make(name, {
      isAside,
      recall: (memo, _, caller) => {
        if (options.rollback && memo.kind === 'answer') this.#onUndoable?.({ memo, options })
        handOut(memo, this.#calls.options, caller)
      },
      begin: (call, caller) => void new StepCall(this.#calls, call, options, body, caller, isAside).run(),
    })
  }

  #named(name: string, options: StepOptions<never> | undefined, body: Body): Promise<unknown> {
    return this.#calls.checked(
      name,
      () => {
        checkName(name, 'step')
        return readStepOptions(options)
      },
      (read) => this.call(name, read, body),
    )
  }
}
