import { once } from 'node:events'
import type { Pool } from 'pg'
import type { Call, PaymentServer } from './payment-server.ts'
import type { WorkerProcess } from '../support/worker-process.ts'

/**
 * Kills a worker at the worst moment: the money of one of its orders has been taken and the answer is still on its way.
 * An order gets that far only after its steps `validate` and `reserve stock` were kept, so there is something to recall.
 */
export async function crashWhileCharging(
  workers: readonly WorkerProcess[],
  payments: PaymentServer,
  pool: Pool,
  isTime: () => boolean,
): Promise<{ victim: WorkerProcess; call: Call }> {
  for (;;) {
    const [call] = await once(payments.events, 'call')
    if (!isTime() || call.effect !== 'charged') continue
    const victim = workers.find((worker) => worker.name === call.worker)
    // The instant is the database's, like all those it will be compared with, and taken before the kill.
    const { rows } = await pool.query('select clock_timestamp() as now')
    if (!victim || call.end !== 'in flight') continue
    victim.kill()
    await pool.query('insert into shop.kills values ($1, $2)', [rows[0].now, call.orderId])
    return { victim, call }
  }
}
