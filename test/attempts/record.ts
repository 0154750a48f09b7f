import { expect, vi } from 'vitest'
import type { FailureCause, RunRef, State, Workflow } from '../../src/index.ts'
import type { StoredError } from '../../src/model/stored-error.ts'
import type { Timings } from '../../src/worker/timings.ts'
import type { TestDatabase } from '../support/database.ts'
import { fastTimings } from '../support/worker.ts'
import { loseLease } from '../support/claim-by-hand.ts'

/** What the database has on record of a run, and the ways in which a test moves it on without waiting. */

/** With a lease of 1.5 s: renewed every 0.15 s, so that a claim which lost its lease soon knows. */
export const quickTimings: Timings = { ...fastTimings, lookMs: 100, renewAfter: 0.1 }

/** For what takes milliseconds on a quiet machine. */
export const patiently = { timeout: 10_000, interval: 10 } as const

export interface RunRecord {
  readonly state: State
  readonly attempt: number
  readonly token: number
  readonly failure: FailureCause | null
  readonly reason: string | null
  /** Of the run itself, else of the newest claim that has one. */
  readonly error: StoredError | null
  /** From the end of the last claim to the time the run is due again. */
  readonly waitMs: number | null
}

export async function recordOf(database: TestDatabase, { id }: RunRef): Promise<RunRecord> {
  const { rows } = await database.query<RunRecord>(
    `select r.state, r.attempt, r.token, r.failure, r.reason, v.error::json as error,
       (extract(epoch from r.due_at - c.ended_at) * 1000)::double precision as "waitMs"
     from holdfast.runs r
     join holdfast.run_views v on v.id = r.id
     left join holdfast.claims c on c.run_id = r.id and c.token = r.token - 1
     where r.id = $1`,
    [id],
  )
  const [row] = rows
  if (!row) throw new Error(`no run ${id}`)
  return row
}

/** The record once the run is in that state, by default for that attempt. */
export async function reached(
  database: TestDatabase,
  run: RunRef,
  wanted: Partial<Pick<RunRecord, 'state' | 'attempt' | 'token'>>,
): Promise<RunRecord> {
  return await vi.waitFor(async () => {
    const record = await recordOf(database, run)
    expect(record).toMatchObject(wanted)
    return record
  }, patiently)
}

export interface ClaimRecord {
  readonly token: number
  readonly attempt: number
  readonly outcome: string | null
  readonly reason: string | null
  readonly error: StoredError | null
  readonly began_at: Date
  readonly ended_at: Date | null
  /** From the end of the claim before it. */
  readonly sinceLastMs: number | null
}

export async function claimsOf(database: TestDatabase, { id }: RunRef): Promise<ClaimRecord[]> {
  const { rows } = await database.query<ClaimRecord>(
    `select token, attempt, outcome, reason, error, began_at, ended_at,
       (extract(epoch from began_at - lag(ended_at) over (order by token)) * 1000)::double precision as "sinceLastMs"
     from holdfast.all_claims where run_id = $1 order by token`,
    [id],
  )
  return rows
}

export interface TriesRecord {
  readonly key: string
  readonly attempt: number
  readonly tries: number
  readonly error: StoredError
}

/** What is on record of steps that were tried and not kept. */
export async function triesOf(database: TestDatabase, { id }: RunRef): Promise<TriesRecord[]> {
  const { rows } = await database.query<TriesRecord>(
    'select key, attempt, tries, error from holdfast.tries where run_id = $1 order by key',
    [id],
  )
  return rows
}

/** Lets the time pass that the run waits for, and its steps, or the one of that key. */
export async function makeDue(database: TestDatabase, { id }: RunRef, key: string | null = null): Promise<void> {
  await database.query(
    `update holdfast.tries set retry_at = holdfast._now()
     where run_id = $1 and retry_at is not null and key = coalesce($2, key)`,
    [id, key],
  )
  const { rowCount } = await database.query(
    `update holdfast.runs set due_at = holdfast._now() where id = $1 and state in ('scheduled', 'suspended')`,
    [id],
  )
  expect(rowCount).toBe(1)
  await database.query(`select holdfast._notify('due')`)
}

/** Lets the time pass that the run had for all of its attempts. */
export async function passDeadline(database: TestDatabase, { id }: RunRef): Promise<void> {
  const pass = 'update holdfast.runs set deadline_at = holdfast._now() where id = $1 and deadline_at is not null'
  expect((await database.query(pass, [id])).rowCount).toBe(1)
}

/** Takes the lease of a running run away, as happens when its worker dies: another claim begins. */
export async function loseWorker(database: TestDatabase, { id }: RunRef): Promise<void> {
  await loseLease(database, id)
}

/** How many runs of a workflow there are. */
export async function countRuns(database: TestDatabase, workflow: Workflow): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::integer as count from holdfast.runs where workflow = $1`,
    [workflow.name],
  )
  return rows[0]?.count ?? 0
}
