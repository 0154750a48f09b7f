import { extendLease } from '../db/claim-calls.ts'
import { isItemFault } from '../db/database-errors.ts'
import type { Database } from '../db/database.ts'
import { JournalStore } from '../db/live-journal.ts'
import { patiently, type Patience } from '../db/patience.ts'
import type { Registry } from '../define/registry.ts'
import { Execution } from '../execute/execution.ts'
import type { Claim } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import type { LeaseLostReason } from '../model/errors.ts'
import type { Ending } from '../model/outcome.ts'
import { storeError } from '../model/stored-error.ts'
import type { Ticket } from '../queue/runner.ts'
import { boundLogger } from '../trace/bound-logger.ts'
import { claimEnd } from '../trace/claim-end.ts'
import type { ClaimSpan, WorkerTelemetry } from '../trace/tracing.ts'
import { Claimer, type Taken } from './claimer.ts'
import { HeldLease } from './held-lease.ts'
import type { Stray } from './leases.ts'
import { Settler, type Settled, type SettleResult, type Settling } from './settler.ts'
import type { Held, Slots } from './slots.ts'
import { TraceNotes } from './trace-notes.ts'

/** The way of one claim: ticket -> claim -> execution -> settle, and how one ends that went astray. */

/**
 * How long a ticket's slot may go on from claim to claim of a limited line. A settle that asks for the next run saves a
 * ticket's way through the queue; what waits there, which may come before it, gets the slot after this at the latest.
 */
const handOverMs = 100

export interface ClaimRunnerOptions {
  readonly database: Database
  readonly registry: Registry
  readonly workerId: string
  readonly slots: Slots
  /** With one slot, runs begin in the exact order of their tickets, and none is handed over. */
  readonly concurrency: number
  readonly patience: Patience
  /** What handlers and their steps measure time by. */
  readonly handlerClock: Clock
  /** Share of a lease after which a claim that could not renew it stops. */
  readonly giveUpAfter: number
  readonly log: Logger
  readonly telemetry: WorkerTelemetry
}

/** What a claim is given back with that its own process was too late for. */
export const lateReason = 'The worker that ran it did not renew its lease.'

const nothing: Omit<Ending, 'outcome'> = { recalled: 0, failures: [], tries: [] }

export class ClaimRunner {
  readonly #database: Database
  readonly #registry: Registry
  readonly #patience: Patience
  readonly #giveUpAfter: number
  readonly #slots: Slots
  readonly #concurrency: number
  readonly #clock: Clock
  readonly #handlerClock: Clock
  readonly #log: Logger
  readonly #workerId: string
  readonly #telemetry: WorkerTelemetry
  readonly #notes: TraceNotes
  readonly #journals: JournalStore
  readonly #claimer: Claimer
  readonly #settler: Settler
  #isClosed = false

  constructor(options: ClaimRunnerOptions) {
    const { database, registry, workerId, slots, concurrency, patience, handlerClock, giveUpAfter, log } = options
    const { telemetry } = options
    this.#database = database
    this.#patience = patience
    this.#giveUpAfter = giveUpAfter
    this.#registry = registry
    this.#slots = slots
    this.#concurrency = concurrency
    this.#clock = patience.clock
    this.#handlerClock = handlerClock
    this.#log = log
    this.#workerId = workerId
    this.#telemetry = telemetry
    this.#notes = new TraceNotes(database, patience.clock)
    const onFlush = (call: string, size: number): void =>
      telemetry.meters.record('holdfast.batch.size', size, { 'holdfast.batch.call': call })
    this.#journals = new JournalStore(database, patience, onFlush)
    this.#claimer = new Claimer({ database, registry, workerId, slots, patience, onFlush })
    this.#settler = new Settler(database, workerId, patience, onFlush)
  }

  /** Resolves when the ticket may be taken off the queue. */
  async take(ticket: Ticket): Promise<void> {
    let taken = await this.#claimer.claim(ticket)
    const until = this.#clock.monotonic() + handOverMs
    while (taken) taken = await this.#run(taken, until)
  }

  /** No handler begins any more: tickets are given back, and claims on their way here released. */
  close(): void {
    this.#isClosed = true
    this.#claimer.close()
  }

  /** Whether the run is held or just asked for. */
  knows(runId: string): boolean {
    return this.#slots.get(runId) !== undefined || this.#claimer.isAsking(runId)
  }

  /** Ends a claim that is this worker's by the database alone: its reply was lost, or it was stopped here. */
  async giveBack({ id, token, isLate }: Stray): Promise<void> {
    const outcome: Settled = isLate
      ? { kind: 'retry', delayMs: 0, reason: lateReason, error: undefined, ifLast: 'lease_expired' }
      : { kind: 'released' }
    const log = boundLogger(this.#log, { runId: id, token })
    try {
      const { lost } = await this.#settler.settle({ id, token, isLimited: true }, { ...nothing, outcome })
      if (!lost) log.warn({ isCounted: isLate }, 'A claim that this worker does not hold was given back.')
    } catch (error) {
      log.warn({ error }, 'A claim that this worker does not hold could not be given back; tried again.')
    }
  }

  /** Answers the claim that was handed over, if its settle asked for one before `until` and got it. */
  async #run({ claim, sentAt }: Taken, until: number): Promise<Taken | undefined> {
    const definition = this.#registry.get(claim.workflow)?.definition
    if (!definition) return undefined
    // Its last claim has ended in the database, and the word of it may still be on its way here.
    await this.#slots.whenFree(claim.id)
    const { id, workflow, attempt, token } = claim
    const trace = this.#telemetry.claim(claim, this.#workerId)
    const log = boundLogger(this.#log, { runId: id, workflow, attempt, token, ...trace.ids })
    const journal = this.#journals.open(claim)
    const lease = new HeldLease({
      claim,
      leaseMs: definition.leaseMs,
      giveUpAfter: this.#giveUpAfter,
      sentAt,
      clock: this.#clock,
      extend: (ms) => patiently(this.#patience, () => extendLease(this.#database, claim, ms)),
    })
    const execution = new Execution({ definition, claim, journal, lease, clock: this.#handlerClock, log, trace })
    const held: Held = { claim, execution, lease }
    this.#slots.put(held)
    const beganAt = this.#clock.monotonic()
    const forget = this.#notes.note(claim, trace.traceparent)
    const end = (ending: Ending, lost?: LeaseLostReason): void => {
      forget()
      trace.end(claimEnd(claim, ending, lost, this.#clock.monotonic() - beganAt))
    }
    try {
      const ending = this.#isClosed ? { ...nothing, outcome: { kind: 'released' } as const } : await execution.run()
      const { outcome } = ending
      if (outcome.kind === 'lost') {
        log.warn({ reason: outcome.reason }, 'The lease was lost; what the handler still does changes nothing.')
        this.#slots.drop(held)
        end(ending)
        return undefined
      }
      const isAsking = claim.isLimited && this.#concurrency > 1 && !this.#isClosed && this.#clock.monotonic() < until
      held.isSettling = true
      forget()
      const leaseMs = isAsking ? definition.leaseMs : undefined
      const settled = await this.#settle(claim, { ...ending, outcome }, leaseMs, trace, log)
      this.#slots.free(id)
      end(settled.ending, settled.lost)
      return settled.next
    } catch (error) {
      log.error({ error }, 'The claim could not be settled; the run is given back.')
      this.#slots.drop(held)
      end({ ...nothing, outcome: { kind: 'lost', reason: 'not_found' } })
      return undefined
    }
  }

  /** Answers the ending that was kept. */
  async #settle(
    claim: Claim,
    ending: Settling,
    leaseMs: number | undefined,
    { traceparent }: ClaimSpan,
    log: Logger,
  ): Promise<SettleResult & { readonly ending: Ending }> {
    let kept = ending
    let result
    try {
      result = await this.#settler.settle(claim, kept, leaseMs, traceparent)
    } catch (thrown) {
      if (!isItemFault(thrown)) throw thrown
      // What the database cannot store must not hold the run up for ever.
      const error = storeError(thrown)
      kept = { ...nothing, outcome: { kind: 'failed', failure: 'rejected', reason: error.message, error } }
      result = await this.#settler.settle(claim, kept, undefined, traceparent)
    }
    const { lost } = result
    if (lost) log.warn({ reason: lost }, 'The lease was lost before the claim could settle; its answer was refused.')
    return { ...result, ending: kept }
  }
}
