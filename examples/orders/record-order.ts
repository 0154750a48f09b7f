import type { Pool } from 'pg'
import type { Client, Queryable } from '../../src/index.ts'
import type { Order } from './order.ts'
import { processOrder } from './process-order.ts'

/**
 * Records an order and starts its run in one transaction: neither exists without the other. The order's id is the run's
 * key, so an order that comes twice starts nothing the second time; undefined says that it was already there.
 */
export async function recordOrder(pool: Pool, client: Client, order: Order): Promise<string | undefined> {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    const run = await client.start(processOrder, order, { key: order.id, tx })
    if (run.created) await insertOrder(tx, order, run.id)
    await tx.query('commit')
    return run.created ? run.id : undefined
  } catch (error) {
    await tx.query('rollback')
    throw error
  } finally {
    tx.release()
  }
}

async function insertOrder(tx: Queryable, order: Order, runId: string): Promise<void> {
  const { id, customer, email, product, quantity, amountCents, note } = order
  await tx.query(
    `insert into shop.orders (id, customer, email, product, quantity, amount_cents, note, run_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, customer, email, product, quantity, amountCents, note, runId],
  )
}
