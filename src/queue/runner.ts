import { Logger as QueueLogger, run as runQueue, type Runner, type TaskList } from 'graphile-worker'
import { EventEmitter } from 'node:events'
import type { Database } from '../db/database.ts'
import { PatientPool } from '../db/patient-pool.ts'
import type { Clock } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'

/**
 * Takes tickets. The queue fetches, orders and wakes; what a ticket's run may do is decided by the claim.
 *
 * 1. The function given to the queue never throws: an error's text could end the process.
 * 2. The id under which tickets are locked is chosen here and put on record before the first fetch, so that whoever
 *    finds this worker dead can unlock them.
 * 3. A queue that ends by itself, or says that it must and does not, is started again under a new id and on new
 *    sessions, after the old id's tickets are unlocked, and again for as long as that fails.
 */

/** A ticket: look at this run, or at the line of a limited workflow. */
export interface Ticket {
  /** Undefined for one that names a line alone. */
  readonly run: string | undefined
  readonly workflow: string
  /** The run's group, or the line's; undefined: none. */
  readonly group: string | undefined
  /** The run's token when the ticket was issued; undefined for one that only says that something came for the run. */
  readonly token: number | undefined
  /** The queue's: lower goes first. */
  readonly priority: number
  /** When it was due, as the database writes it: of two, the earlier is the lesser text. */
  readonly runAt: string
}

export interface QueueRunnerOptions {
  readonly database: Database
  readonly workflows: readonly string[]
  readonly concurrency: number
  readonly clock: Clock
  readonly log: Logger
  readonly newPoolId: () => string
  /** Puts the id on record. The first fetch waits for it. */
  readonly onPoolId: (poolId: string) => Promise<void>
  /** Resolves when the ticket may be taken off the queue. */
  readonly onTicket: (ticket: Ticket) => Promise<void>
}

/** Tickets wait in this process at most so long while others could take them. */
const localQueueTtlMs = 50
const pollIntervalMs = 1_000
const restartAfterMs = 500
const longestPreparedName = 30
/** How long a queue that met a fatal error has to end. */
const endingMs = 5_000

export class QueueRunner {
  readonly #options: QueueRunnerOptions
  #pool: PatientPool
  #poolId = ''
  #runner: Runner | undefined
  readonly #stopping = new AbortController()
  #ended: Promise<void> = Promise.resolve()

  constructor(options: QueueRunnerOptions) {
    this.#options = options
    this.#pool = this.#openPool()
  }

  async start(): Promise<void> {
    await this.#run()
  }

  /** Takes no ticket any more, gives back those not begun, and waits for those in hand. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#runner?.stop().catch(() => undefined)
    await this.#ended
  }

  /** The server has fallen silent. */
  cut(): void {
    this.#pool.cut()
  }

  /** Gives up whatever still waits for the database. */
  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#pool.end()
  }

  #openPool(): PatientPool {
    const { database, concurrency, clock, log } = this.#options
    return new PatientPool({
      config: database.connectionConfig,
      // A fetch, a completion, a LISTEN and one to spare; at concurrency 1 there is no batching to share them.
      size: Math.min(4, concurrency + 3),
      clock,
      onLoss: (error) => log.warn({ error }, 'The queue lost its connection; it waits for the database.'),
      beforeRefetch: () => this.#unlocking,
    })
  }

  async #run(): Promise<void> {
    if (this.#isStopping()) return
    const { database, concurrency, workflows, clock, newPoolId, onPoolId } = this.#options
    const poolId = newPoolId()
    await onPoolId(poolId)
    this.#poolId = poolId
    const events = new EventEmitter()
    events.on('pool:create', ({ workerPool }: { workerPool: { id: string } }) => void (workerPool.id = poolId))
    const failed = new Promise<void>((resolve) => void events.once('pool:fatalError', () => resolve()))
    const ending = failed.then(() => clock.sleep(endingMs, this.#stopping.signal))
    const tasks: TaskList = Object.fromEntries(
      workflows.map((name) => [
        name,
        (payload, { job }) => this.#take(name, payload, job.priority, String(job.run_at)),
      ]),
    )
    this.#runner = await runQueue({
      pgPool: this.#pool.asPool(),
      schema: database.names.queue,
      taskList: tasks,
      noHandleSignals: true,
      events,
      logger: queueLogger(this.#options.log),
      preset: {
        worker: {
          concurrentJobs: concurrency,
          pollInterval: pollIntervalMs,
          // The queue puts its schema into the names of its statements, which Postgres cuts off at 63 bytes.
          preparedStatements: database.names.queue.length <= longestPreparedName,
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          ...(concurrency > 1 ? { localQueue: { size: concurrency, ttl: localQueueTtlMs } } : {}),
        },
      },
    })
    const ended = this.#runner.promise.catch(() => undefined)
    this.#ended = Promise.race([ended, ending]).then(() => this.#restart())
    // It may have been asked to stop while it started.
    if (this.#isStopping()) await this.#runner.stop().catch(() => undefined)
  }

  async #take(workflow: string, payload: unknown, priority: number, runAt: string): Promise<void> {
    const { run, token, group } = payload as { run?: unknown; token?: unknown; group?: unknown }
    const ticket = {
      run: typeof run === 'string' ? run : undefined,
      workflow,
      group: typeof group === 'string' ? group : undefined,
      token: typeof token === 'number' ? token : undefined,
      priority,
      runAt,
    }
    if (ticket.run === undefined && ticket.group === undefined) return
    try {
      await this.#options.onTicket(ticket)
    } catch (error) {
      this.#options.log.error({ error, runId: run }, 'A ticket could not be looked at; it will be issued again.')
    }
  }

  /**
   * Tickets that nobody here may know of. Those in hand are unlocked with them, and come to nothing if they are taken a
   * second time.
   */
  get #unlocking(): { readonly text: string; readonly values: unknown[] } {
    const { quotedQueue } = this.#options.database.names
    return { text: `select ${quotedQueue}.force_unlock_workers($1)`, values: [[this.#poolId]] }
  }

  async #restart(): Promise<void> {
    const { clock, log } = this.#options
    const poolId = this.#poolId
    if (!this.#isStopping()) log.error({ poolId }, 'The queue ended by itself and is started again.')
    while (!this.#isStopping()) {
      await clock.sleep(restartAfterMs, this.#stopping.signal)
      if (this.#isStopping()) return
      void this.#pool.end()
      this.#pool = this.#openPool()
      try {
        await this.#pool.query(this.#unlocking)
        return await this.#run()
      } catch (error) {
        log.error({ error, poolId }, 'The queue could not be started again; tried once more.')
      }
    }
  }

  #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }
}

const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'debug' } as const

function queueLogger(log: Logger): QueueLogger {
  return new QueueLogger(() => (level, message) => {
    if (level === 'error' || level === 'warning') log[levels[level]]({ from: 'queue' }, message)
  })
}
