import pg from 'pg'
import { createClient, type Client } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import type { Address } from '../support/database.ts'
import type { Burst } from './limits-bursts.ts'
import { redeployed, workflows, type WorkflowName } from './limits-workflows.ts'
import { Random } from './random.ts'

/** Starts runs and cancels some, at once or in transactions that stay open for a while. */
export class LimitsPort {
  /** Ids of runs whose starts were committed. */
  readonly acknowledged: string[] = []
  readonly #client: Client
  readonly #pool: pg.Pool
  readonly #random: Random
  #hasDeployed = false

  constructor({ connectionString }: Address, seed: number) {
    this.#client = createClient({ connectionString, migrate: 'off' })
    this.#pool = new pg.Pool({ connectionString, max: 20 })
    this.#pool.on('error', () => undefined)
    this.#random = new Random(seed)
  }

  /** From now on half of the starts are a newer release's. */
  deploy(): void {
    this.#hasDeployed = true
  }

  async start({ workflow, hauls, held }: Burst): Promise<void> {
    const isNewer = workflow === 'deployed' && this.#hasDeployed && this.#random.whole(2) === 0
    const started = isNewer ? redeployed : workflows[workflow]
    if (held === undefined) {
      const runs = await this.#client.startMany(
        started,
        hauls.map((input) => ({ input })),
      )
      return void this.acknowledged.push(...runs.map(({ id }) => id))
    }
    await this.#hold(held.ms, held.isCommitted, async (tx) => {
      const ids: string[] = []
      for (const haul of hauls) ids.push((await this.#client.start(started, haul, { tx })).id)
      return ids
    }).then((ids) => {
      if (held.isCommitted) this.acknowledged.push(...ids)
    })
  }

  /** Some that run and some that wait, whichever there are. Answers how many those were. */
  async cancel(workflow: WorkflowName, count: number, heldMs: number): Promise<number> {
    const { rows } = await this.#pool.query<{ id: string }>(
      `(select id from holdfast.runs where workflow = $1 and state = 'running' order by random() limit $2)
      union all
      (select id from holdfast.runs where workflow = $1 and state = 'waiting' order by random() limit $2)`,
      [workflow, Math.ceil(count / 2)],
    )
    const ids = rows.map(({ id }) => id)
    if (heldMs === 0) await this.#pool.query('select from holdfast.cancel_runs($1, null)', [ids])
    else await this.#hold(heldMs, true, (tx) => tx.query('select from holdfast.ask_cancels($1, null)', [ids]))
    return ids.length
  }

  async close(): Promise<void> {
    await this.#client.close()
    await this.#pool.end()
  }

  async #hold<Answer>(ms: number, isCommitted: boolean, work: (tx: pg.PoolClient) => Promise<Answer>): Promise<Answer> {
    const tx = await this.#pool.connect()
    try {
      await tx.query('begin')
      const answer = await work(tx)
      await systemClock.sleep(ms)
      await tx.query(isCommitted ? 'commit' : 'rollback')
      return answer
    } finally {
      tx.release()
    }
  }
}
