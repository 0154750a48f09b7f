import { hostname } from 'node:os'
import type { Database } from '../db/database.ts'
import { requireScheduled } from '../define/make-scheduled.ts'
import type { Registry } from '../define/registry.ts'
import type { Clock } from '../model/clock.ts'
import { parseDuration } from '../model/duration.ts'
import { ClosedError } from '../model/errors.ts'
import { uuidv7 } from '../model/id.ts'
import type { Logger } from '../model/logger.ts'
import type { Duration } from '../model/policy.ts'
import { QueueRunner } from '../queue/runner.ts'
import { boundLogger } from '../trace/bound-logger.ts'
import type { WorkerTelemetry } from '../trace/tracing.ts'
import { untraced } from '../trace/untraced.ts'
import { ClaimRunner } from './claim-runner.ts'
import { Gauges } from './gauges.ts'
import { Leases } from './leases.ts'
import { LimitNews } from './limit-news.ts'
import type { Part } from './part.ts'
import { Presence } from './presence.ts'
import { Promoter } from './promoter.ts'
import { Scheduler } from './scheduler.ts'
import { Slots } from './slots.ts'
import { Sweeper } from './sweeper.ts'
import type { Timings } from './timings.ts'

/** The parts of a worker, how they start, and in which order they stop. */

export interface WorkerCoreOptions {
  readonly database: Database
  readonly registry: Registry
  readonly concurrency: number
  readonly graceMs: number
  readonly clock: Clock
  /** What handlers and their steps measure time by. Default: `clock`. */
  readonly handlerClock?: Clock | undefined
  readonly log: Logger
  readonly timings: Timings
  /** Default: none. */
  readonly telemetry?: WorkerTelemetry | undefined
  /** Sees that the schema is there, before anything else. */
  readonly prepare: () => Promise<void>
  /** Releases what was opened for this worker alone. */
  readonly release: () => Promise<void>
}

/** How long a stop waits for the database beyond its grace before it leaves the rest to the leases' end. */
const lastWordsMs = 5_000

export class WorkerCore {
  readonly id: string
  readonly done: Promise<void>
  readonly #options: WorkerCoreOptions
  readonly #log: Logger
  readonly #slots = new Slots()
  readonly #limits: LimitNews
  readonly #giveUp = new AbortController()
  readonly #claims: ClaimRunner
  readonly #queue: QueueRunner
  readonly #presence: Presence
  readonly #leases: Leases
  readonly #promoter: Promoter
  readonly #scheduler: Scheduler
  readonly #sweeper: Sweeper
  readonly #gauges: Gauges
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #isHurried = false
  #hurry: () => void = () => undefined
  #onDone: () => void = () => undefined

  constructor(options: WorkerCoreOptions) {
    const { database, registry, concurrency, clock, timings, telemetry = untraced } = options
    const { meters } = telemetry
    this.#options = options
    this.id = uuidv7(clock)
    this.done = new Promise((resolve) => void (this.#onDone = resolve))
    const log = boundLogger(options.log, { workerId: this.id })
    this.#log = log
    const onLoss = (error: unknown): void => {
      log.warn({ error }, 'The database was lost; waiting for it.')
      // What a lost reply had claimed is this worker's, and holds its place under a limit until it is given back.
      this.#leases.hasten()
    }
    const patience = { clock, until: this.#giveUp.signal, onLoss }
    const leases = registry.workflows.map((workflow) => workflow.definition.leaseMs)
    this.#claims = new ClaimRunner({
      database,
      registry,
      workerId: this.id,
      slots: this.#slots,
      concurrency,
      patience,
      handlerClock: options.handlerClock ?? clock,
      giveUpAfter: timings.giveUpAfter,
      log,
      telemetry,
    })
    this.#limits = new LimitNews(database, registry, log)
    this.#promoter = new Promoter(database, timings.lookMs, clock, log)
    this.#scheduler = new Scheduler({ database, registry, lookMs: timings.lookMs, clock, log })
    const leaseMs = Math.min(...leases)
    this.#sweeper = new Sweeper({ database, workerId: this.id, sweepMs: timings.sweepMs, leaseMs, clock, log })
    this.#presence = new Presence({
      database,
      workerId: this.id,
      name: `${hostname()} ${process.pid}`,
      workflows: registry.names,
      slots: concurrency,
      leaseMs: Math.max(...leases),
      pulseMs: timings.pulseMs,
      clock,
      log,
      onMessage: (message) => this.#hear(message),
      onSilence: () => {
        log.warn({}, 'The database does not answer; it is asked on new connections.')
        database.cut()
        this.#queue.cut()
      },
    })
    this.#leases = new Leases({
      slots: this.#slots,
      renew: (items) => this.#presence.renew(items),
      isKnown: (runId) => this.#claims.knows(runId),
      onStray: (stray) => void this.#claims.giveBack(stray),
      leaseMs,
      timings,
      clock,
      log,
      meters,
    })
    this.#gauges = new Gauges({ database, workerId: this.id, slots: this.#slots, concurrency, meters, clock })
    this.#queue = new QueueRunner({
      database,
      workflows: registry.names,
      concurrency,
      clock,
      log,
      newPoolId: () => `holdfast-${uuidv7(clock)}`,
      onPoolId: (poolId) => this.#presence.addPool(poolId),
      onTicket: async (ticket) => {
        await this.#claims.take(ticket)
        this.#scheduler.hearEnd()
      },
    })
  }

  /** Resolves when it takes runs. A second call answers as the first. */
  start(): Promise<void> {
    if (this.#stopping)
      return Promise.reject(new ClosedError('This worker was stopped.', { remedy: 'Create a new one.' }))
    return (this.#starting ??= this.#start())
  }

  /**
   * Takes no new run, lets those in hand finish for `grace`, then aborts and releases them, uncounted. A second call
   * ends the grace.
   */
  stop(options: { grace?: Duration | undefined } = {}): Promise<void> {
    const graceMs = options.grace === undefined ? this.#options.graceMs : parseDuration(options.grace, 'grace')
    if (this.#stopping) {
      this.#isHurried = true
      this.#hurry()
    }
    return (this.#stopping ??= this.#stop(graceMs))
  }

  get #parts(): readonly Part[] {
    return [this.#presence, this.#leases, this.#promoter, this.#scheduler, this.#sweeper, this.#gauges, this.#queue]
  }

  async #start(): Promise<void> {
    const { prepare, registry, clock } = this.#options
    for (const workflow of registry.workflows) await requireScheduled(workflow, clock)
    await prepare()
    await this.#limits.compare()
    const started: Part[] = []
    try {
      for (const part of this.#parts) {
        started.unshift(part)
        await part.start()
      }
    } catch (error) {
      this.#giveUp.abort()
      await Promise.allSettled(started.map((part) => part.stop()))
      throw error
    }
    this.#log.info({ workflows: registry.names, slots: this.#options.concurrency }, 'The worker takes runs.')
  }

  async #stop(graceMs: number): Promise<void> {
    const { clock, release } = this.#options
    await this.#starting?.catch(() => undefined)
    this.#claims.close()
    this.#log.info({ claims: this.#slots.size }, 'The worker takes no more runs and lets those in hand finish.')
    const housekeeping = Promise.all([this.#promoter.stop(), this.#scheduler.stop(), this.#sweeper.stop()])
    const queue = this.#queue.stop()
    // A second call may have come before there was anything to hurry.
    if (!this.#isHurried) await this.#empty(graceMs)
    for (const held of this.#slots.all()) held.execution.interrupt({ kind: 'released' })
    const overdue = clock.after(lastWordsMs, () => this.#giveUp.abort())
    await this.#empty(lastWordsMs)
    await Promise.race([queue, clock.sleep(lastWordsMs, this.#giveUp.signal)])
    overdue.cancel()
    this.#giveUp.abort()
    await this.#queue.close()
    await this.#within(lastWordsMs, queue)
    // A renewal may wait for a session that only the presence's end gives up.
    await Promise.allSettled([housekeeping, this.#gauges.stop(), this.#leases.stop(), this.#presence.stop()])
    await release()
    this.#log.info({}, 'The worker stopped.')
    this.#onDone()
  }

  /** Resolves when no claim is held, after `ms`, or when hurried. */
  async #empty(ms: number): Promise<void> {
    const enough = new AbortController()
    this.#hurry = () => enough.abort()
    await this.#within(ms, this.#slots.whenEmpty(), enough)
  }

  async #within(ms: number, work: Promise<unknown>, enough = new AbortController()): Promise<void> {
    await Promise.race([work, this.#options.clock.sleep(ms, enough.signal)])
    enough.abort()
  }

  #hear(message: string): void {
    const [word, ...ids] = message.split(' ')
    if (word === 'due') this.#promoter.look()
    if (word === 'schedules') this.#scheduler.look()
    if (word === 'limits') this.#limits.look()
    if (word === 'signalled') for (const id of ids) this.#slots.get(id)?.execution.hear()
    if (word === 'cancelled') for (const id of ids) this.#slots.get(id)?.execution.interrupt({ kind: 'cancelled' })
  }
}
