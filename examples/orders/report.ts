/**
 * What happened, according to the database and the payment server's ledger and to nothing else: no count kept while the
 * example ran enters here. Every query the example makes about Holdfast's own tables is in this file.
 */
import type { Pool } from 'pg'
import type { Ledger } from './payment-server.ts'

export interface OrderOutcome {
  readonly id: string
  readonly amountCents: number
  readonly state: string
  /** Why the run failed: the cause, and the handler's reason. */
  readonly failure: string | null
  readonly reason: string | null
  readonly receipt: string | null
  readonly confirmation: string | null
}

interface Steps {
  readonly ran: number
  readonly recalled: number
  /** Claims, and how many of them were not their run's first. */
  readonly claims: number
  readonly laterClaims: number
}

interface Recovery {
  readonly killedWhileCharging: string
  /** Runs that the dead worker held, and how many of them another worker took over. */
  readonly heldRuns: number
  readonly takenOver: number
  /** From the kill to the first and to the last take-over. */
  readonly firstMs: number | null
  readonly lastMs: number | null
}

export interface Report {
  readonly orders: readonly OrderOutcome[]
  readonly steps: Steps
  readonly recovery: Recovery | undefined
  /** Products of which another quantity left the shelf than was confirmed. */
  readonly wrongStock: readonly string[]
  readonly ledger: Ledger
}

export async function readReport(pool: Pool, ledger: Ledger): Promise<Report> {
  const [orders, steps, recovery, wrongStock] = await Promise.all([
    pool.query<OrderOutcome>(ordersSql),
    pool.query<Steps>(stepsSql),
    pool.query<Recovery>(recoverySql),
    pool.query<{ product: string }>(wrongStockSql),
  ])
  return {
    orders: orders.rows,
    steps: steps.rows[0]!,
    recovery: recovery.rows[0],
    wrongStock: wrongStock.rows.map((row) => row.product),
    ledger,
  }
}

const ordersSql = `
  select o.id, o.amount_cents as "amountCents", r.state, r.failure, coalesce(r.reason, r.error ->> 'message') as reason, o.receipt,
         o.confirmation
    from shop.orders o
    join holdfast.runs r on r.id = o.run_id
   order by o.id`

const stepsSql = `
  select (select count(*)::int from holdfast.steps s join shop.orders o on o.run_id = s.run_id) as ran,
         coalesce(sum(c.recalled), 0)::int as recalled,
         count(*)::int as claims,
         (count(*) - count(distinct c.run_id))::int as "laterClaims"
    from holdfast.all_claims c
    join shop.orders o on o.run_id = c.run_id`

// Whoever held the run whose charge was in flight is the dead worker. The leases it lost, and each such run's next claim:
const recoverySql = `
  with dead as (
    select k.killed_at, k.order_id, c.worker_id
      from shop.kills k
      join shop.orders o on o.id = k.order_id
      join holdfast.all_claims c on c.run_id = o.run_id and k.killed_at between c.began_at and c.ended_at
  ),
  lost as (
    select d.killed_at, d.order_id, c.run_id,
           (select min(n.began_at) from holdfast.all_claims n where n.run_id = c.run_id and n.token > c.token) as next_at
      from dead d
      join holdfast.claims c on c.worker_id = d.worker_id and c.outcome = 'lease_lost'
  )
  select min(order_id) as "killedWhileCharging",
         count(*)::int as "heldRuns",
         count(next_at)::int as "takenOver",
         (extract(epoch from min(next_at) - min(killed_at)) * 1000)::int as "firstMs",
         (extract(epoch from max(next_at) - min(killed_at)) * 1000)::int as "lastMs"
    from lost
  having count(*) > 0`

const wrongStockSql = `
  select s.product
    from shop.stock s
    left join shop.orders o on o.product = s.product and o.confirmation is not null
   group by s.product
  having s.delivered - s.on_hand <> coalesce(sum(o.quantity), 0)`
