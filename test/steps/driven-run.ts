import { expect, vi } from 'vitest'
import { Execution } from '../../src/execute/execution.ts'
import type { Workflow } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import type { Memo } from '../../src/model/journal.ts'
import type { Ending } from '../../src/model/outcome.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { untracedClaim } from '../../src/trace/untraced.ts'
import { dying } from '../execute/dying-journal.ts'
import { isFinal, type ClaimOptions, type PlayedRun } from '../execute/played-run.ts'
import { claimByHand, expire, sweepLeases } from '../support/claim-by-hand.ts'
import type { TestDatabase } from '../support/database.ts'
import { openClient } from '../support/worker.ts'
import { unleased } from '../execute/unleased.ts'

/** A run in Postgres whose claims a test takes one by one, without a worker, and whose processes die where it says. */
export class DrivenRun implements PlayedRun {
  readonly id: string
  readonly #database: TestDatabase
  #attempt = 0
  #signals = 0

  constructor(database: TestDatabase, id: string) {
    this.#database = database
    this.id = id
  }

  static async start(database: TestDatabase, workflow: Workflow): Promise<DrivenRun> {
    const client = openClient(database)
    const { id } = await client.start(workflow)
    // There may be thousands of them in one test.
    await client.close()
    return new DrivenRun(database, id)
  }

  async memos(): Promise<readonly Memo[]> {
    const { rows } = await this.#database.query<{ memo: Memo }>(
      `select json_build_object('key', key, 'kind', kind, 'value', value::text, 'types', types, 'seq', seq,
         'ordinal', ordinal, 'attempt', attempt, 'token', token, 'tries', tries) as memo
       from holdfast.steps where run_id = $1 order by seq`,
      [this.id],
    )
    return rows.map((row) => row.memo)
  }

  async claim(workflow: Workflow, { death, onBegin }: ClaimOptions = {}): Promise<Ending | undefined> {
    const held = await claimByHand(this.#database, this.id)
    const { claim } = held
    this.#attempt = claim.attempt
    const journal = dying(held.journal, death)
    onBegin?.(journal)
    const { definition } = workflow
    const execution = new Execution({
      definition,
      claim,
      journal,
      lease: unleased,
      clock: systemClock,
      log: silentLogger,
      trace: untracedClaim,
    })
    const ending = await Promise.race([execution.run(), journal.died])
    if (ending === undefined) {
      await expire(this.#database, this.id)
      // A memo that is just being kept holds the sweep off.
      await vi.waitFor(async () => expect(await sweepLeases(this.#database)).toBe(1), { interval: 5 })
    } else if (ending.outcome.kind !== 'lost') {
      await held.settle(ending.outcome, ending)
      await this.#makeDue()
    }
    return ending
  }

  isOver(ending: Ending | undefined, workflow: Workflow): boolean {
    return isFinal(ending, this.#attempt, workflow)
  }

  /** Claims it again and again until its end. */
  async toEnd(workflow: Workflow, deaths: readonly ClaimOptions['death'][] = []): Promise<Ending> {
    for (let claim = 0; ; claim += 1) {
      const ending = await this.claim(workflow, { death: deaths[claim] })
      if (ending && this.isOver(ending, workflow)) return ending
    }
  }

  /** What it waits for has come: its time, or else a signal for the first of its waits. */
  async #makeDue(): Promise<void> {
    const { rows } = await this.#database.query<{ name: string }>(
      `select name from holdfast.waits w where run_id = $1 and kind = 'signal' and not exists (
         select from holdfast.waits t where t.run_id = w.run_id and t.due_at is not null)
       order by ordinal limit 1`,
      [this.id],
    )
    for (const { name } of rows) {
      this.#signals += 1
      const item = { id: `${this.#signals}`, run: this.id, name, payload: JSON.stringify(`signal ${this.#signals}`) }
      await this.#database.query('select holdfast.send_signals($1)', [JSON.stringify([item])])
    }
    await this.#database.query(
      `update holdfast.runs set due_at = now() where id = $1 and state in ('scheduled', 'suspended')`,
      [this.id],
    )
    await this.#database.query(
      `update holdfast.tries set retry_at = now() where run_id = $1 and retry_at is not null`,
      [this.id],
    )
    await this.#database.query('select holdfast.promote_due(500)')
  }
}
