import type { Database } from '../db/database.ts'
import { dueSchedules, fireSchedules, type Fired, type Firing, type Standing } from '../db/schedule-calls.ts'
import { makeScheduled } from '../define/make-scheduled.ts'
import type { Registry } from '../define/registry.ts'
import { nextInstant, wantedInstants } from '../define/schedule-instants.ts'
import type { Clock, Timer } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import type { ResolvedSchedule, Workflow } from '../model/workflow.ts'
import type { Part } from './part.ts'

/** So many runs of a schedule are started in one transaction, if their inputs are not longer than this together. */
const mostRuns = 1_000
const mostCharacters = 4_000_000

export interface SchedulerOptions {
  readonly database: Database
  readonly registry: Registry
  readonly lookMs: number
  readonly clock: Clock
  readonly log: Logger
}

type Due = Standing & { readonly spec: string }

/**
 * Starts the runs of schedules at their instants, by the database's clock. Instants are computed here, where cron can be
 * read, and decided there: whatever was computed counts only if the schedule still stands where it was looked at.
 */
export class Scheduler implements Part {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Logger
  readonly #lookMs: number
  readonly #scheduled: ReadonlyMap<string, Workflow>
  #isStopped = true
  #isWanted = false
  #hasQueued = false
  #looking: Promise<void> | undefined
  #timer: Timer | undefined
  /** The schedules in force that were told of, as they are not those here. */
  readonly #told = new Map<string, string>()

  constructor({ database, registry, lookMs, clock, log }: SchedulerOptions) {
    this.#database = database
    this.#lookMs = lookMs
    this.#clock = clock
    this.#log = log
    const scheduled = registry.workflows.filter(({ definition }) => definition.schedule !== undefined)
    this.#scheduled = new Map(scheduled.map((workflow) => [workflow.name, workflow]))
  }

  async start(): Promise<void> {
    if (this.#scheduled.size === 0) return
    this.#isStopped = false
    this.look()
    await this.#looking
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#looking
  }

  /** A claim has ended here: what is queued behind its run may start. */
  hearEnd(): void {
    if (this.#hasQueued) this.look()
  }

  /** A schedule may be another now, or due. */
  look(): void {
    if (this.#isStopped) return
    this.#isWanted = true
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined
      if (this.#isWanted) this.look()
    })
  }

  async #lookOnce(): Promise<void> {
    this.#isWanted = false
    this.#timer?.cancel()
    const waitMs = await this.#fireDue()
    if (!this.#isStopped) this.#timer = this.#clock.after(Math.max(1, waitMs), () => this.look())
  }

  /** Answers when to look again. */
  async #fireDue(): Promise<number> {
    try {
      for (let isWell = true; isWell && !this.#isStopped;) {
        const standings = await dueSchedules(this.#database, [...this.#scheduled.keys()])
        this.#compare(standings)
        this.#hasQueued = standings.some((each) => each.queued_ms !== null)
        const due = standings.filter(isDue)
        if (due.length === 0) return Math.min(this.#lookMs, ...standings.map((each) => each.wait_ms ?? Infinity))
        for (const standing of due) isWell = (await this.#fire(standing)) && isWell
      }
    } catch (error) {
      this.#log.warn({ error }, 'Schedules could not be looked at; tried again.')
    }
    return this.#lookMs
  }

  /** One that cannot be decided holds up no other. Answers whether it was. */
  async #fire(standing: Due): Promise<boolean> {
    try {
      for (const fired of await fireSchedules(this.#database, [await this.#firing(standing)])) this.#tell(fired)
      return true
    } catch (error) {
      this.#log.warn({ workflow: standing.workflow, error }, 'A schedule could not be decided; tried again.')
      return false
    }
  }

  async #firing(standing: Due): Promise<Firing> {
    const { workflow, turn, past_ms: pastMs, queued_ms: queuedMs, now_ms: nowMs } = standing
    const schedule = JSON.parse(standing.spec) as ResolvedSchedule
    const most = Math.ceil(Math.min(mostRuns, mostCharacters / standing.spec.length))
    // A clock that was set back leaves what is decided as it is.
    const { instants, untilMs } = wantedInstants(schedule, pastMs, Math.max(pastMs, nowMs), most)
    const starts: Firing['starts'][number][] = []
    for (const atMs of queuedMs === null ? instants : [queuedMs, ...instants]) {
      try {
        const item = await makeScheduled(this.#scheduled.get(workflow)!, schedule, atMs, nowMs - atMs, this.#clock)
        starts.push({ at: iso(atMs), item })
      } catch (error) {
        // What was queued is decided up to `pastMs` already.
        const [past_at, next_at] = [iso(Math.max(pastMs, atMs - 1)), iso(Math.max(pastMs, atMs))]
        return {
          workflow,
          turn,
          past_at,
          next_at,
          starts,
          error: error instanceof Error ? error.message : String(error),
        }
      }
    }
    const next_at = iso(nextInstant(schedule, untilMs))
    return { workflow, turn, past_at: iso(untilMs), next_at, starts, error: undefined }
  }

  /** Says once of each schedule that another is in force, or none. */
  #compare(standings: readonly Standing[]): void {
    for (const [workflow, { definition }] of this.#scheduled) {
      const found = standings.find((each) => each.workflow === workflow)
      const inForce = found ? found.spec : 'none'
      if (inForce === null || inForce === JSON.stringify(definition.schedule)) continue
      if (this.#told.get(workflow) === inForce) continue
      this.#told.set(workflow, inForce)
      this.#log.warn({ workflow }, 'A newer definition has another schedule than this one, or none; its is in force.')
    }
  }

  #tell({ workflow, at_ms: atMs, outcome, run_id: runId, failing_count: count, error }: Fired): void {
    const about = { workflow, scheduledFor: iso(atMs) }
    if (outcome === 'started') this.#log.info({ ...about, runId }, 'A scheduled run was started.')
    if (outcome === 'skipped') this.#log.info(about, 'A scheduled run was skipped, as the last one has not ended.')
    if (outcome === 'failed' && count === 1) {
      this.#log.warn({ ...about, error }, 'A scheduled run could not be started; it is tried again.')
    }
  }
}

function isDue(standing: Standing): standing is Due {
  return standing.spec !== null
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
