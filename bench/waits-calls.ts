/**
 * What the calls that every run meets take beside the sleepers, and without: one session in each database, which take turns
 * call by call, as a worker and a client would make them.
 */
import { Database } from '../src/db/database.ts'
import { claimRuns } from '../src/db/claim-calls.ts'
import { startRuns } from '../src/db/calls.ts'
import { settleRuns } from '../src/db/settle-calls.ts'
import { defineWorkflow } from '../src/define/define-workflow.ts'
import { makeStart } from '../src/define/make-start.ts'
import type { Claim } from '../src/model/claim.ts'
import { systemClock } from '../src/model/clock.ts'
import type { StartItem } from '../src/model/start-item.ts'
import { instant } from './instant.ts'
import { median } from './measure.ts'

type CallName = 'claim' | 'start' | 'settle'

export type SideName = 'full' | 'empty'

/** Where either side's database is. */
export type Sides = Readonly<Record<SideName, string>>

/** Milliseconds, the median of a round's calls. */
export type CallFigures = Readonly<Record<CallName, Readonly<Record<SideName, number>>>>

/** In a call, as many as a worker with 64 slots brings together. */
const runs = 64
/** Not counted: they meet cold caches, functions without plans, and code that is not compiled yet. */
const warmUps = 20
const worker = '00000000-0000-4000-8000-000000000000'
const leaseMs = 60_000

const workflow = defineWorkflow({ name: 'called', handler: () => null })

/** A turn is one call of each kind on either side. */
export async function playCalls(connectionStrings: Sides, turns: number): Promise<CallFigures> {
  const full = new CallingSide(connectionStrings.full)
  const empty = new CallingSide(connectionStrings.empty)
  try {
    for (let turn = 0; turn < warmUps + turns; turn++) {
      if (turn === warmUps) for (const side of [full, empty]) side.forget()
      // Whoever goes first meets the other's writes on their way to the disk, or does not.
      const order = turn % 2 === 0 ? [full, empty] : [empty, full]
      for (const side of order) await side.prepare()
      for (const side of order) await side.start()
      for (const side of order) await side.claim()
      for (const side of order) await side.settle()
    }
    const figuresOf = (name: CallName) => ({ full: full.medianMs(name), empty: empty.medianMs(name) })
    return { claim: figuresOf('claim'), start: figuresOf('start'), settle: figuresOf('settle') }
  } finally {
    await Promise.all([full.close(), empty.close()])
  }
}

class CallingSide {
  readonly #database: Database
  #taken: Record<CallName, number[]> = { claim: [], start: [], settle: [] }
  #items: readonly StartItem[] = []
  #claims: readonly Claim[] = []

  constructor(connectionString: string) {
    this.#database = new Database({ connectionString, size: 1, clock: systemClock })
  }

  forget(): void {
    this.#taken = { claim: [], start: [], settle: [] }
  }

  medianMs(name: CallName): number {
    return median(this.#taken[name]) ?? Number.NaN
  }

  /** Makes the next runs, and takes the tickets of the last ones, which a worker would have done by now. */
  async prepare(): Promise<void> {
    const starts = Array.from({ length: runs }, (_, i) => makeStart(workflow, { i }, undefined, systemClock))
    this.#items = (await Promise.all(starts)).map(({ item }) => item)
    await this.#database.pool.query('delete from holdfast_queue._private_jobs')
  }

  async start(): Promise<void> {
    const rows = await this.#timed('start', () => startRuns(this.#database, this.#items))
    expectAll(
      'started',
      rows.filter((row) => row.is_created),
    )
  }

  async claim(): Promise<void> {
    const items = this.#items.map(({ id }) => ({ id, lease_ms: leaseMs }))
    const { claims } = await this.#timed('claim', () => claimRuns(this.#database, worker, items, false))
    expectAll('claimed', claims)
    this.#claims = claims
  }

  async settle(): Promise<void> {
    const items = this.#claims.map(({ id, token }) => ({ id, token, outcome: 'done', recalled: 0, output: 'null' }))
    const { lost } = await this.#timed('settle', () => settleRuns(this.#database, worker, items))
    expectAll(
      'settled',
      lost.filter((reason) => reason === undefined),
    )
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  async #timed<T>(name: CallName, call: () => Promise<T>): Promise<T> {
    const begunAt = instant()
    const answer = await call()
    this.#taken[name].push(instant() - begunAt)
    return answer
  }
}

/** A call that had less to do was not the one to be measured. */
function expectAll(done: string, them: readonly unknown[]): void {
  if (them.length !== runs) throw new Error(`${them.length} of ${runs} runs were ${done}.`)
}
