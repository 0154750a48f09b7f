import type pg from 'pg'
import { systemClock } from '../../src/model/clock.ts'
import type { Caps } from './limits-evidence.ts'
import type { SetLimits } from './limits-plan.ts'
import { redeployed, workflowNames, workflows, type WorkflowName } from './limits-workflows.ts'
import { Turns } from './turns.ts'

/** Sets limits and pauses workflows, as an operator does, and remembers what it said. */
export class Operator {
  readonly #pool: pg.Pool
  readonly #said = new Map<string, SetLimits>()
  /** Of each workflow one at a time, so that what was said last is known. */
  readonly #turns = new Map<string, Turns>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async change(workflow: WorkflowName, limits: SetLimits): Promise<void> {
    await this.#turnsOf(workflow).take(async () => {
      await this.#pool.query('select holdfast.set_limits($1, $2, $3)', [workflow, JSON.stringify(limits), 'chaos'])
      this.#said.set(workflow, { ...this.#said.get(workflow), ...limits })
    })
  }

  async pause(workflow: WorkflowName, ms: number): Promise<void> {
    await this.#turnsOf(`${workflow} paused`).take(async () => {
      await this.#pool.query('select holdfast.pause_workflow($1, $2, null)', [workflow, 'chaos'])
      await systemClock.sleep(ms)
      await this.#pool.query('select holdfast.resume_workflow($1)', [workflow])
    })
  }

  /** By workflow, what has to be in force in the end; of the one whose releases differ, what has to be in turn. */
  get said(): Record<string, readonly Caps[]> {
    return Object.fromEntries(
      workflowNames.map((name) => {
        const releases = name === 'deployed' ? [workflows.deployed, redeployed] : [workflows[name]]
        return [name, releases.map(({ definition }) => capsOf({ ...definition.limits, ...this.#said.get(name) }))]
      }),
    )
  }

  #turnsOf(workflow: string): Turns {
    const turns = this.#turns.get(workflow) ?? new Turns()
    this.#turns.set(workflow, turns)
    return turns
  }
}

function capsOf({ concurrency, concurrencyPerGroup, rate, ratePerGroup, isFair }: SetLimits): Caps {
  return {
    concurrency: concurrency ?? null,
    groupConcurrency: concurrencyPerGroup ?? null,
    rate: rate ?? null,
    groupRate: ratePerGroup ?? null,
    isFair: isFair ?? false,
  }
}
