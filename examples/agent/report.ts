/**
 * What happened, according to the database and to what the model's server wrote down, and to nothing else: no count kept
 * while the example ran enters here. Every query the example makes about Holdfast's own tables is in this file.
 */
import type { Pool } from 'pg'
import { limits } from './answer-question.ts'
import type { Call, ModelServer } from './model-server.ts'

export interface RunOutcome {
  readonly id: string
  readonly tenant: string
  readonly state: string
  readonly attempt: number
  readonly answer: string | null
  readonly firstBeganAt: Date
  /** Its claims that ended in a snooze, and those that were lost with their worker. */
  readonly snoozes: number
  readonly lost: number
}

/** The most claims of a tenant that began within one stretch of the rate's `per`. */
interface Burst {
  readonly tenant: string
  readonly most: number
}

/** What `workflow audit --json` prints: what was looked at, and what exceeded a limit. */
interface Audit {
  readonly workflows: readonly { readonly claims: number }[]
  readonly violations: readonly unknown[]
}

interface Steps {
  readonly ran: number
  readonly recalled: number
  /** Claims that were not their run's first. */
  readonly laterClaims: number
}

interface Recovery {
  /** Runs that the dead worker held, and how many of them another worker took over. */
  readonly heldRuns: number
  readonly takenOver: number
  /** From the kill to the first and to the last take-over. */
  readonly firstMs: number | null
  readonly lastMs: number | null
}

export interface Report {
  readonly runs: readonly RunOutcome[]
  readonly bursts: readonly Burst[]
  readonly audit: Audit
  readonly steps: Steps
  readonly recovery: Recovery | undefined
  readonly calls: readonly Call[]
  readonly mostAtOnce: ModelServer['mostAtOnce']
}

export async function readReport(pool: Pool, { calls, mostAtOnce }: ModelServer): Promise<Report> {
  const { per } = limits.rate.perGroup
  const [runs, bursts, audit, steps, recovery] = await Promise.all([
    pool.query<RunOutcome>(runsSql),
    pool.query<Burst>(burstsSql, [per]),
    pool.query<{ audit: Audit }>('select holdfast.audit_limits(null, null)::json as audit'),
    pool.query<Steps>(stepsSql),
    pool.query<Recovery>(recoverySql),
  ])
  return {
    runs: runs.rows,
    bursts: bursts.rows,
    audit: audit.rows[0]!.audit,
    steps: steps.rows[0]!,
    recovery: recovery.rows[0],
    calls,
    mostAtOnce,
  }
}

const runsSql = `
  select r.id, r.group_key as tenant, r.state, r.attempt, r.output ->> 'text' as answer,
         min(c.began_at) as "firstBeganAt",
         (count(*) filter (where c.outcome = 'snooze'))::int as snoozes,
         (count(*) filter (where c.outcome = 'lease_lost'))::int as lost
    from holdfast.runs r
    join holdfast.all_claims c on c.run_id = r.id
   group by r.id
   order by r.id`

// Half-open: a claim that begins exactly \`per\` after another is not in one stretch with it. Instants are microseconds.
const burstsSql = `
  select tenant, max(began)::int as most
    from (
      select r.group_key as tenant,
             count(*) over (
               partition by r.group_key order by c.began_at
               range between current row and $1 * interval '1 ms' - interval '1 us' following) as began
        from holdfast.all_claims c
        join holdfast.runs r on r.id = c.run_id
    ) stretches
   group by tenant
   order by tenant`

const stepsSql = `
  select (select count(*)::int from holdfast.steps) as ran,
         coalesce(sum(c.recalled), 0)::int as recalled,
         (count(*) - count(distinct c.run_id))::int as "laterClaims"
    from holdfast.all_claims c`

// Whoever held the run whose call was in flight is the dead worker. The leases it lost, and each such run's next claim:
const recoverySql = `
  with dead as (
    select k.killed_at, c.worker_id
      from agent.kills k
      join holdfast.all_claims c on c.run_id = k.run_id and k.killed_at between c.began_at and c.ended_at
  ),
  lost as (
    select d.killed_at,
           (select min(n.began_at) from holdfast.all_claims n where n.run_id = c.run_id and n.token > c.token) as next_at
      from dead d
      join holdfast.claims c on c.worker_id = d.worker_id and c.outcome = 'lease_lost'
  )
  select count(*)::int as "heldRuns",
         count(next_at)::int as "takenOver",
         (extract(epoch from min(next_at) - min(killed_at)) * 1000)::int as "firstMs",
         (extract(epoch from max(next_at) - min(killed_at)) * 1000)::int as "lastMs"
    from lost
  having count(*) > 0`
