import { afterEach, beforeAll } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { recordDefinitions } from '../../src/db/record-definitions.ts'
import { createRegistry } from '../../src/define/registry.ts'
import { defineWorkflow, type Logger, type Schedule, type Workflow } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { Scheduler } from '../../src/worker/scheduler.ts'
import type { TestDatabase } from './database.ts'
import { optionsFor } from './variant.ts'
import { recordingLogger } from './worker.ts'

export interface StoppedClock {
  /** Sets the database's time. */
  set(at: string): Promise<void>
  advance(ms: number): Promise<void>
}

/** The database's clock stands still and goes as the test says, for the whole file. */
export function useStoppedClock(database: TestDatabase, at: string): StoppedClock {
  beforeAll(async () => {
    await database.query(`create table public.stopped_clock as select '${at}'::timestamptz as at`)
    await database.query(
      `create or replace function holdfast._now() returns timestamptz language sql volatile parallel safe as
       $$ select at from public.stopped_clock $$`,
    )
  })
  return {
    set: async (to) => void (await database.query('update public.stopped_clock set at = $1', [to])),
    advance: async (ms) =>
      void (await database.query(`update public.stopped_clock set at = at + $1 * interval '1 ms'`, [ms])),
  }
}

const databases: Database[] = []

afterEach(async () => {
  await Promise.all(databases.splice(0).map((database) => database.close()))
})

export function openDatabase(database: TestDatabase): Database {
  const opened = new Database({ ...optionsFor(database), clock: systemClock })
  databases.push(opened)
  return opened
}

/** Puts definitions on record, as a worker that starts does. */
export async function record(database: TestDatabase, ...workflows: readonly Workflow[]): Promise<void> {
  await recordDefinitions(openDatabase(database), workflows)
}

export interface Looker {
  /** Fires what is due, until nothing is. */
  look(): Promise<void>
}

/** A worker's scheduler alone, which looks when it is told to. */
export function schedulerOf(
  database: TestDatabase,
  workflows: readonly Workflow[],
  log: Logger = silentLogger,
): Looker {
  const options = { database: openDatabase(database), registry: createRegistry(workflows), clock: systemClock, log }
  const scheduler = new Scheduler({ ...options, lookMs: 3_600_000 })
  return {
    look: async () => {
      await scheduler.start()
      await scheduler.stop()
    },
  }
}

export interface ScheduledRun {
  readonly id: string
  readonly for: string
  readonly due: string
  readonly state: string
  readonly key: string
  readonly input: unknown
}

/** The runs of a workflow by the instants they are for. */
export async function scheduledRuns(database: TestDatabase, workflow: string): Promise<ScheduledRun[]> {
  const { rows } = await database.query<ScheduledRun>(
    `select r.id, r.metadata ->> 'scheduledFor' as for, to_char(r.due_at at time zone 'UTC', 'HH24:MI:SS') as due, r.state,
       r.key, r.input
     from holdfast.runs r where r.workflow = $1 order by 2, 1`,
    [workflow],
  )
  return rows
}

/** Of those instants the times of day. */
export async function firedTimes(database: TestDatabase, workflow: string): Promise<string[]> {
  return (await scheduledRuns(database, workflow)).map((run) => run.for.slice(11, 19))
}

/** Ends all runs of a workflow, as if a worker had. */
export async function endRuns(database: TestDatabase, workflow: string): Promise<void> {
  await database.query(
    `update holdfast.runs set state = 'done', token = 2, claimed_at = holdfast._now(), ended_at = holdfast._now()
     where workflow = $1 and ended_at is null`,
    [workflow],
  )
}

export interface Begun extends Looker {
  readonly name: string
  readonly workflow: Workflow
  readonly log: ReturnType<typeof recordingLogger>
}

/** For tests of what a schedule does as time goes by, each under a workflow of its own. */
export function scheduling(
  database: TestDatabase,
  clock: StoppedClock,
): {
  /** A workflow of that schedule, first seen at `at`. */
  begin(at: string, schedule: Schedule<undefined>, options?: { maxWaiting?: number; deadline?: string }): Promise<Begun>
  /** What an operator sees of its schedule. */
  shown(workflow: string): Promise<Record<string, unknown>>
} {
  let count = 0
  return {
    begin: async (at, schedule, options = {}) => {
      const name = `scheduled ${(count += 1)}`
      const workflow = defineWorkflow({ name, schedule, ...options, handler: () => 1 })
      await clock.set(at)
      await record(database, workflow)
      const log = recordingLogger()
      return { name, workflow, log, ...schedulerOf(database, [workflow], log) }
    },
    shown: async (workflow) => {
      const { rows } = await database.query<{ shown: string }>('select holdfast.show_schedules($1) as shown', [
        workflow,
      ])
      return (JSON.parse(rows[0]?.shown ?? '[]') as Record<string, unknown>[])[0] ?? {}
    },
  }
}
