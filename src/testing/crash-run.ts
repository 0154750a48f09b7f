import { claimRuns, extendLease } from '../db/claim-calls.ts'
import { JournalStore } from '../db/live-journal.ts'
import { lapse } from '../db/test-calls.ts'
import { Execution } from '../execute/execution.ts'
import type { Claim, Lease } from '../model/claim.ts'
import { systemClock } from '../model/clock.ts'
import { uuidv7 } from '../model/id.ts'
import type { Memo } from '../model/journal.ts'
import type { Ending } from '../model/outcome.ts'
import { isFinal } from '../model/state.ts'
import type { Workflow } from '../model/workflow.ts'
import { silentLogger } from '../trace/bound-logger.ts'
import { Settler } from '../worker/settler.ts'
import type { CrashFuse } from './crash-fuse.ts'
import { outcomeOf, type Ended } from './crash-outcome.ts'
import { Mortal } from './mortal.ts'
import { ReplayWatch } from './replay-watch.ts'
import type { TestDatabase } from './test-database.ts'
import { withRun } from './with-run.ts'

/** A run's last claim, with all that was kept by its end. */
export interface History {
  readonly claim: Claim
  readonly memos: readonly Memo[]
}

export interface PlayedRun {
  /** Undefined: it did not end. */
  readonly ended: Ended | undefined
  /** Of a run that is done. */
  readonly history: History | undefined
  /** Steps whose bodies ran although their outcomes were kept. */
  readonly ranAgain: readonly string[]
  /** The step at which a claim left the way on record. */
  readonly strayed: string | undefined
}

export interface CrashRunsOptions {
  readonly database: TestDatabase
  readonly workflow: Workflow
  readonly input: unknown
  /** How long one claim may take. */
  readonly timeoutMs: number
}

/** More claims of one run are a run that never ends. */
const mostClaims = 1_000

/** Takes runs of a workflow through their claims one by one, as a worker would: claim, execute, settle. */
export class CrashRuns {
  readonly #options: CrashRunsOptions
  readonly #workerId = uuidv7(systemClock)
  readonly #journals: JournalStore
  readonly #settler: Settler

  constructor(options: CrashRunsOptions) {
    const { database } = options.database
    const patience = { clock: systemClock, until: AbortSignal.abort() }
    this.#options = options
    this.#journals = new JournalStore(database, patience)
    this.#settler = new Settler(database, this.#workerId, patience)
  }

  /** Starts a run and plays it to its end; its process dies where the fuse says. */
  async play(fuse: CrashFuse): Promise<PlayedRun> {
    const { workflow, input, database } = this.#options
    const { client, time } = database
    const { id } = await client.start(workflow, input)
    const kept = new Set<string>()
    const ranAgain: string[] = []
    let strayed: string | undefined
    for (let claims = 0; claims < mostClaims; claims += 1) {
      const claimed = await this.#claim(id, fuse)
      if (!claimed) break
      const { mortal, watch, history } = claimed
      ranAgain.push(...mortal.began.filter((key) => kept.has(key)))
      for (const key of mortal.memos.keys()) kept.add(key)
      strayed ??= watch.strayed
      const view = await client.get(id)
      if (!view) break
      if (isFinal(view.state)) return { ended: { runId: id, outcome: outcomeOf(view) }, history, ranAgain, strayed }
      if (view.state === 'running') await lapse(database.database, id)
      // The database counts in microseconds.
      else if (view.state !== 'waiting' && view.dueAt) await time.moveTo(view.dueAt.getTime() + 1)
    }
    return { ended: undefined, history: undefined, ranAgain, strayed }
  }

  /** One claim, to its end or its death. Undefined: there is none, or it came to neither. */
  async #claim(
    id: string,
    fuse: CrashFuse,
  ): Promise<{ mortal: Mortal; watch: ReplayWatch; history: History | undefined } | undefined> {
    const { workflow, timeoutMs, database } = this.#options
    const lease_ms = workflow.definition.leaseMs
    const {
      claims: [claim],
    } = await claimRuns(database.database, this.#workerId, [{ id, lease_ms }], false)
    if (!claim) return undefined
    const watch = new ReplayWatch(claim.memos)
    const mortal = new Mortal(fuse, watch, database.clock.handlerClock)
    const { definition } = withRun(workflow, (run) => mortal.run(run))
    const execution = new Execution({
      definition,
      claim,
      journal: mortal.journal(this.#journals.open(claim)),
      lease: this.#leaseOf(claim),
      clock: mortal.clock,
      log: silentLogger,
    })
    const ending = await within(timeoutMs, Promise.race([execution.run(), mortal.died]))
    if (ending === tooLate) {
      mortal.die()
      return undefined
    }
    if (ending) await this.#settle(claim, ending, mortal)
    if (mortal.isDead) await mortal.landed()
    if (ending?.outcome.kind !== 'done') return { mortal, watch, history: undefined }
    watch.ended()
    return { mortal, watch, history: { claim, memos: memosOf(claim, mortal, ending) } }
  }

  async #settle(claim: Claim, ending: Ending, mortal: Mortal): Promise<void> {
    const { outcome } = ending
    if (outcome.kind === 'lost') return
    if (mortal.pass('before the claim ends')) return
    await this.#settler.settle(claim, { ...ending, outcome })
    mortal.pass('after the claim has ended')
  }

  #leaseOf(claim: Claim): Lease {
    const { database } = this.#options.database
    return { expiresAt: claim.leaseUntil, extend: async (ms) => (await extendLease(database, claim, ms)).until }
  }
}

function memosOf(claim: Claim, mortal: Mortal, { failures }: Ending): Memo[] {
  const { attempt, token } = claim
  const made = [...mortal.memos.values(), ...failures].map((memo) => ({ ...memo, attempt, token }))
  return [...claim.memos, ...made].toSorted((a, b) => a.seq - b.seq)
}

export const tooLate: unique symbol = Symbol('too late')

export async function within<T>(ms: number, work: Promise<T>): Promise<T | typeof tooLate> {
  const enough = new AbortController()
  try {
    return await Promise.race([work, systemClock.sleep(ms, enough.signal).then((): typeof tooLate => tooLate)])
  } finally {
    enough.abort()
  }
}
