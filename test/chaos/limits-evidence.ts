import type pg from 'pg'
import type { BrokenInvariant } from './invariant-watch.ts'

/** What is left of the limits suite: what its checker judges by. Instants are milliseconds of the database's clock. */

/** A run began to wait or to run, or ceased to, by the triggers of the history. */
export interface Move {
  /** The order of the moves of one line is the order of these. */
  readonly n: number
  readonly xid: number
  readonly at: number
  readonly committedAt: number
  readonly workflow: string
  /** '' for none. */
  readonly group: string
  readonly run: string
  readonly oldState: string | null
  readonly state: string | null
  /** When the claim began, by the run's row. */
  readonly claimedAt: number | null
  /** The claim before this one ended by a suspension or a release, so no rate counts this one. */
  readonly isFree: boolean
}

export interface Rate {
  readonly limit: number
  readonly perMs: number
}

/** Null: no cap. */
export interface Caps {
  readonly concurrency: number | null
  readonly groupConcurrency: number | null
  readonly rate: Rate | null
  readonly groupRate: Rate | null
  readonly isFair: boolean
}

export const noCaps: Caps = { concurrency: null, groupConcurrency: null, rate: null, groupRate: null, isFair: false }

/** Limits as they came into force. */
export interface InForce extends Caps {
  readonly isPaused: boolean
  /** Every decision about the workflow is made in one line, not one a group. */
  readonly isWide: boolean
}

export interface Change {
  readonly n: number
  readonly at: number
  readonly committedAt: number
  readonly workflow: string
  /** Null: no limit any more. */
  readonly inForce: InForce | null
}

export interface LimitsEvidence {
  readonly acknowledged: readonly string[]
  readonly runs: readonly { readonly id: string; readonly state: string }[]
  readonly moves: readonly Move[]
  readonly changes: readonly Change[]
  /** By workflow, what has to be in force in the end; where releases differ, what has to have been in turn. */
  readonly said: Readonly<Record<string, readonly Caps[]>>
  readonly brokenInvariants: readonly BrokenInvariant[]
  /** While fewer claims are live there is a slot for one more. */
  readonly slots: number
  /** How often sessions of the server waited for each other in a circle. */
  readonly deadlocks: number
  readonly exits: readonly string[]
  /** Kind of fault -> how many were planned and how many happened. */
  readonly faults: Readonly<Record<string, { readonly planned: number; readonly done: number }>>
}

const ms = (time: string): string => `(extract(epoch from ${time}) * 1000)::double precision`
const committedAt = `${ms('pg_xact_commit_timestamp(e.xid::xid)')} as "committedAt"`

export async function gatherMoves(
  pool: pg.Pool,
): Promise<Pick<LimitsEvidence, 'runs' | 'moves' | 'changes' | 'deadlocks'>> {
  const read = async <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> => (await pool.query<Row>(text)).rows
  const runs = await read<{ id: string; state: string }>('select id, state from holdfast.runs')
  const moves = await read<Move>(`
    select e.n::integer, e.xid::text::double precision as xid, ${ms('e.at')} as at, ${committedAt}, r.workflow,
      coalesce(r.group_key, '') as group, e.run_id as run, e.old_state as "oldState", e.state,
      ${ms('e.claimed_at')} as "claimedAt", coalesce(c.outcome in ('suspended', 'released'), false) as "isFree"
    from history.events e join holdfast.runs r on r.id = e.run_id
    left join holdfast.claims c on c.run_id = e.run_id and c.token = e.token - 2 and e.state = 'running'
    where e.subject = 'run' and e.old_state is distinct from e.state
    order by e.n`)
  const changes = await read<Omit<Change, 'inForce'> & { value: string | null }>(`
    select e.n::integer, ${ms('e.at')} as at, ${committedAt}, e.key as workflow, e.value
    from history.events e where e.subject = 'limits' order by e.n`)
  const [server] = await read<{ deadlocks: number }>(
    'select deadlocks::integer from pg_stat_database where datname = current_database()',
  )
  return {
    runs,
    deadlocks: server?.deadlocks ?? 0,
    moves,
    changes: changes.map(({ value, ...change }) => ({ ...change, inForce: value === null ? null : readLimits(value) })),
  }
}

interface LimitsRow {
  readonly concurrency: number | null
  readonly group_concurrency: number | null
  readonly rate: number | null
  readonly rate_ms: number | null
  readonly group_rate: number | null
  readonly group_rate_ms: number | null
  readonly is_fair: boolean
  readonly is_paused: boolean
  readonly is_wide: boolean
}

function readLimits(value: string): InForce {
  const row = JSON.parse(value) as LimitsRow
  return {
    concurrency: row.concurrency,
    groupConcurrency: row.group_concurrency,
    rate: readRate(row.rate, row.rate_ms),
    groupRate: readRate(row.group_rate, row.group_rate_ms),
    isFair: row.is_fair,
    isPaused: row.is_paused,
    isWide: row.is_wide,
  }
}

function readRate(limit: number | null, perMs: number | null): Rate | null {
  return limit === null || perMs === null ? null : { limit, perMs }
}
