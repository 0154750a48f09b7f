import { once } from 'node:events'
import type { Pool } from 'pg'
import type { WorkerProcess } from '../support/worker-process.ts'
import type { Call, ModelServer } from './model-server.ts'

/**
 * Kills a worker while the model thinks about the answer of one of its runs: plan and tools are kept by then, so there is
 * something to recall.
 */
export async function crashWhileAnswering(
  workers: readonly WorkerProcess[],
  model: ModelServer,
  pool: Pool,
  isTime: () => boolean,
): Promise<{ victim: WorkerProcess; call: Call }> {
  for (;;) {
    const [call] = await once(model.events, 'call')
    if (!isTime() || call.step !== 'answer') continue
    const victim = workers.find((worker) => worker.name === call.worker)
    // The instant is the database's, like all those it will be compared with, and taken before the kill.
    const { rows } = await pool.query('select clock_timestamp() as now')
    if (!victim || call.end !== 'in flight') continue
    victim.kill()
    await pool.query('insert into agent.kills values ($1, $2)', [rows[0].now, call.runId])
    return { victim, call }
  }
}
