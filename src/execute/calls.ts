import { AsyncResource } from 'node:async_hooks'
import type { Clock } from '../model/clock.ts'
import { ArgumentError, MismatchError, type LeaseLostError } from '../model/errors.ts'
import type { Journal, Memo } from '../model/journal.ts'
import type { Logger } from '../model/logger.ts'
import type { Definition } from '../model/workflow.ts'
import type { HandlerSpan } from '../trace/tracing.ts'
import { Deliveries } from './deliveries.ts'
import { Failures } from './failures.ts'
import { scopeOfItem } from './item-scope.ts'
import { Ledger, type Call } from './ledger.ts'
import type { Caller, Scope } from './scope.ts'
import { UnderWay } from './under-way.ts'

export interface CallsOptions {
  readonly definition: Definition
  readonly runId: string
  readonly retries: number
  readonly journal: Journal
  readonly scope: Scope
  readonly clock: Clock
  readonly log: Logger
  readonly trace: HandlerSpan
  /** By the clock's monotonic time. */
  readonly claimBeganAt: number
  readonly onLost: (error: LeaseLostError) => void
  readonly onMismatch: (error: MismatchError) => void
}

/** What becomes of a call: its outcome was kept, or it has none yet. */
export interface CallKind {
  recall(memo: Memo, call: Call, caller: Caller): void
  begin(call: Call, caller: Caller): void
  /** It is no part of the way that a handler goes: its place may be new, or gone. */
  readonly isAside?: boolean
}

/** The calls on `run` of one claim that have a durable outcome: their keys, their turns, and whether they are where they were. */
export class Calls {
  readonly options: CallsOptions
  readonly underWay: UnderWay = new UnderWay()
  readonly deliveries: Deliveries
  readonly failures: Failures
  readonly ledger: Ledger

  constructor(options: CallsOptions) {
    const { definition, journal, scope, clock } = options
    this.options = options
    this.ledger = new Ledger(journal.memos, journal.tries, definition.maxSteps)
    this.deliveries = new Deliveries(clock, scope, this.ledger.lastSeq)
    this.failures = new Failures(journal)
  }

  make(name: string, kind: CallKind): Promise<unknown> {
    const { scope, definition, journal, log } = this.options
    return scope.call(name, (caller) => {
      let call: Call
      try {
        this.refuseInside(name)
        call = this.ledger.open(scopeOfItem() + name)
      } catch (error) {
        return caller.reject(error)
      }
      if (this.ledger.isHalfFull) log.warn({ maxSteps: definition.maxSteps }, 'Half of maxSteps is used.')
      const { memo } = call
      if (memo) return this.deliveries.recall(memo.seq, () => kind.recall(memo, call, caller))
      const begin = (): void => {
        if (!kind.isAside && this.#strays(call)) return
        if (journal.isRecorded && !kind.isAside) caller.wait({ wakeAt: undefined, tried: undefined })
        else kind.begin(call, caller)
      }
      // A body that has to wait for its turn still runs in its caller's async context.
      this.deliveries.start(begin, () => AsyncResource.bind(begin))
    })
  }

  /** A call whose arguments are wrong is none. */
  checked<T>(name: string, read: () => T, make: (read: T) => Promise<unknown>): Promise<unknown> {
    let good: T
    try {
      good = read()
    } catch (error) {
      return this.options.scope.call(String(name), (caller) => caller.reject(error))
    }
    return make(good)
  }

  /**
   * A replay does not run the body of a kept step, so what a body calls would be missed there. It is refused where it
   * is seen: in the part of a body before its first await.
   */
  refuseInside(name: string): void {
    const { entered } = this.underWay
    if (entered === undefined) return
    throw new ArgumentError(`"${name}" was called on run inside the body of step "${entered}".`, {
      field: 'name',
      remedy: 'Call it in the handler, before or after that step.',
    })
  }

  /** At rest, what was kept next must have been asked for. */
  checkAtRest(): void {
    const missing = this.ledger.nextUnread
    if (missing)
      this.#stray(`Its record goes on with "${missing.key}", which the handler did not come to.`, missing.key)
  }

  /**
   * Something new begins where the record has something else: every call before this one has been made, so a memo of a
   * lower place that nobody asked for is of a call that is not there any more, or is another one now.
   */
  #strays(call: Call): boolean {
    const missing = this.ledger.unreadUpTo(call.ordinal)
    if (!missing) return false
    this.#stray(`"${call.key}" began where its record has "${missing.key}".`, call.key)
    return this.options.definition.onMismatch !== 'warn'
  }

  #stray(what: string, step: string): void {
    this.options.onMismatch(
      new MismatchError(`The handler went another way than its record: ${what}`, {
        field: step,
        remedy:
          'Give new code a place of its own with run.version, or bring the old way back for runs that have begun.',
      }),
    )
  }
}
