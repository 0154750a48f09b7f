import { randomUUID } from 'node:crypto'
import { afterEach, expect } from 'vitest'
import type { LeaseRenewal } from '../../src/db/calls.ts'
import { claimRuns } from '../../src/db/claim-calls.ts'
import { Database } from '../../src/db/database.ts'
import { JournalStore } from '../../src/db/live-journal.ts'
import type { Claim } from '../../src/model/claim.ts'
import { systemClock } from '../../src/model/clock.ts'
import type { LeaseLostReason } from '../../src/model/errors.ts'
import type { Journal, NewMemo } from '../../src/model/journal.ts'
import type { Ending, Outcome } from '../../src/model/outcome.ts'
import type { StartItem } from '../../src/model/start-item.ts'
import { Settler } from '../../src/worker/settler.ts'
import type { TestDatabase } from './database.ts'
import { optionsFor } from './variant.ts'

export type Settled = Exclude<Outcome, { kind: 'lost' }>

const next: StartItem = {
  id: '00000000-0000-8000-8000-000000000001',
  workflow: 'sample',
  key: undefined,
  group_key: undefined,
  priority: 0,
  max_attempts: 10,
  at: undefined,
  delay_ms: undefined,
  deadline_ms: undefined,
  dedupe_ms: 0,
  keep_ms: 0,
  keep_done_ms: 0,
  max_waiting: undefined,
  metadata: undefined,
  input: 'null',
  input_types: null,
}

/** One of each way a claim can end, far from due where it goes on. */
export const outcomes: { readonly [K in Settled['kind']]: Extract<Settled, { kind: K }> } = {
  done: { kind: 'done', output: { json: '"late"', types: null } },
  continued: { kind: 'continued', next },
  retry: { kind: 'retry', delayMs: 3_600_000, reason: 'late', error: undefined, ifLast: 'attempts_exhausted' },
  snooze: { kind: 'snooze', delayMs: 3_600_000, reason: 'late' },
  failed: { kind: 'failed', failure: 'rejected', reason: 'late', error: undefined },
  suspended: { kind: 'suspended', wakeMs: 3_600_000, isParked: false },
  released: { kind: 'released' },
}

const opened = new Map<TestDatabase, Database>()

afterEach(async () => {
  await Promise.all(Array.from(opened.values(), (database) => database.close()))
  opened.clear()
})

export interface ClaimOptions {
  readonly workerId?: string
  readonly leaseMs?: number
  /** It asks again, since it does not know what came of its first request. */
  readonly isRepeated?: boolean
}

/** Claims a run as a worker would, and answers its handles: nothing goes on unless the test says so. */
export async function claimByHand(
  database: TestDatabase,
  runId: string,
  { workerId = randomUUID(), leaseMs = 30_000, isRepeated = false }: ClaimOptions = {},
): Promise<ClaimByHand> {
  const own = opened.get(database) ?? new Database({ ...optionsFor(database), clock: systemClock })
  opened.set(database, own)
  const {
    claims: [claim],
  } = await claimRuns(own, workerId, [{ id: runId, lease_ms: leaseMs }], isRepeated)
  if (!claim) throw new Error(`Run ${runId} is not to be had.`)
  return new ClaimByHand(own, workerId, claim)
}

export class ClaimByHand {
  readonly workerId: string
  readonly claim: Claim
  readonly journal: Journal
  readonly #database: Database
  readonly #settler: Settler

  constructor(database: Database, workerId: string, claim: Claim) {
    const patience = { clock: systemClock, until: AbortSignal.abort() }
    this.#database = database
    this.workerId = workerId
    this.claim = claim
    this.journal = new JournalStore(database, patience).open(claim)
    this.#settler = new Settler(database, workerId, patience)
  }

  /** Answers why it was refused, if it was. */
  async settle(outcome: Settled, rest: Partial<Ending> = {}): Promise<LeaseLostReason | undefined> {
    return (await this.#settler.settle(this.claim, { recalled: 0, failures: [], tries: [], ...rest, outcome })).lost
  }

  async renew(leaseMs = 30_000): Promise<LeaseRenewal['problem'] | undefined> {
    const items = [{ id: this.claim.id, token: this.claim.token, lease_ms: leaseMs }]
    const problems = await this.#database.call<LeaseRenewal>('renew_leases', [this.workerId, JSON.stringify(items)])
    return problems[0]?.problem ?? undefined
  }

  /** Answers how many rows were written. */
  async progress(json: string): Promise<number> {
    const items = [{ id: this.claim.id, token: this.claim.token, value: json, types: null }]
    const [row] = await this.#database.call<{ keep_progress: number }>('keep_progress', [JSON.stringify(items)])
    return row?.keep_progress ?? 0
  }
}

/** A start of a child of that run. */
export function childOf(runId: string): StartItem {
  return { ...next, id: randomUUID(), parent_id: runId }
}

export function memo(key: string, json: string, seq = 1): NewMemo {
  return { key, kind: 'answer', value: json, types: null, seq, ordinal: seq, tries: 1, durationMs: 1, args: undefined }
}

/** Lets the leases of these runs run out, without a word to whoever holds them. */
export async function expire(database: TestDatabase, ...runIds: readonly string[]): Promise<void> {
  await database.query(`update holdfast.runs set lease_until = now() - interval '1 s' where id = any($1)`, [runIds])
}

/**
 * Ends a running run's claim as the sweep does when its worker is gone: in one transaction, before a renewal can come
 * between, and again for as long as a write under way holds the sweep off.
 */
export async function loseLease(database: TestDatabase, runId: string): Promise<void> {
  const client = await database.pool.connect()
  const lapse = `update holdfast.runs set lease_until = holdfast._now() where id = $1 and state = 'running'`
  const left = `select from holdfast.runs where id = $1 and state = 'running'`
  try {
    for (let isHeld = true; isHeld;) {
      await client.query('begin')
      expect((await client.query(lapse, [runId])).rowCount).toBe(1)
      await client.query('select holdfast.end_leases(500, holdfast._now())')
      isHeld = (await client.query(left, [runId])).rowCount === 1
      await client.query(isHeld ? 'rollback' : 'commit')
    }
  } finally {
    client.release()
  }
}

/** What the sweep does about leases that ran out. Answers how many claims it ended. */
export async function sweepLeases(database: TestDatabase): Promise<number> {
  const { rows } = await database.query<{ ended: number }>('select holdfast.end_leases(500, holdfast._now()) as ended')
  return rows[0]?.ended ?? 0
}

export interface RunRecord {
  readonly run: Readonly<Record<string, unknown>>
  readonly tickets: unknown
  readonly kept: unknown
}

/** All that the database knows of a run, to see whether anything changed. */
export async function recordOf(database: TestDatabase, runId: string): Promise<RunRecord> {
  const { rows } = await database.query<RunRecord>(
    `select to_json(r) as run,
      (select json_agg(json_build_object('key', j.key, 'run_at', j.run_at) order by j.id)
        from holdfast_queue._private_jobs j where j.payload ->> 'run' = r.id::text) as tickets,
      json_build_object(
        'steps', (select json_agg(s order by s.key) from holdfast.steps s where s.run_id = r.id),
        'tries', (select json_agg(t order by t.key) from holdfast.tries t where t.run_id = r.id),
        'claims', (select json_agg(c order by c.token) from holdfast.claims c where c.run_id = r.id),
        'waits', (select json_agg(w order by w.key) from holdfast.waits w where w.run_id = r.id),
        'signals', (select json_agg(s order by s.arrival) from holdfast.signals s where s.run_id = r.id),
        'children', (select json_agg(c.id order by c.id) from holdfast.runs c where c.parent_id = r.id),
        'progress', (select json_agg(p) from holdfast.progress p where p.run_id = r.id)) as kept
    from holdfast.runs r where r.id = $1`,
    [runId],
  )
  if (!rows[0]) throw new Error(`There is no run ${runId}.`)
  return rows[0]
}

/** The same, without what a living holder changes all the time: its lease and its tickets. */
export async function recordBesideLease(database: TestDatabase, runId: string): Promise<object> {
  const { run, kept } = await recordOf(database, runId)
  return { run: { ...run, lease_until: undefined }, kept }
}
