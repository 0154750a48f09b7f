import { claimRuns, extendLease } from '../db/claim-calls.ts'
import type { Database } from '../db/database.ts'
import { JournalStore } from '../db/live-journal.ts'
import { Execution } from '../execute/execution.ts'
import type { Claim, Lease } from '../model/claim.ts'
import { systemClock, type Clock } from '../model/clock.ts'
import { decode } from '../model/codec.ts'
import { uuidv7 } from '../model/id.ts'
import type { Journal, Memo } from '../model/journal.ts'
import type { Ending } from '../model/outcome.ts'
import type { Workflow } from '../model/workflow.ts'
import { untracedClaim } from '../trace/untraced.ts'
import { Settler } from '../worker/settler.ts'
import type { CrashFuse } from './crash-fuse.ts'
import type { CrashSubjects } from './crash-subjects.ts'
import { Mortal } from './mortal.ts'
import { StrayLog } from './stray-log.ts'
import { withRun } from './with-run.ts'

/** The last claim of a run that is done, with all that was kept by its end. */
export interface History {
  readonly workflow: Workflow
  readonly claim: Claim
  readonly memos: readonly Memo[]
  /** Undefined: another run went on where it ended. */
  readonly answer: { readonly output: unknown } | undefined
}

export interface PlayedClaim {
  /** Keys of the bodies that began. */
  readonly began: readonly string[]
  /** Keys of what it has kept. */
  readonly kept: readonly string[]
  /** The step at which it left the way on record. */
  readonly strayed: string | undefined
  readonly history: History | undefined
}

export interface CrashClaimsOptions {
  readonly database: Database
  readonly handlerClock: Clock
  readonly subjects: CrashSubjects
  /** How long one claim may take. */
  readonly timeoutMs: number
}

/** Takes runs through claims, as a worker would: claim, execute, settle. */
export class CrashClaims {
  readonly #options: CrashClaimsOptions
  readonly #workerId = uuidv7(systemClock)
  readonly #journals: JournalStore
  readonly #settler: Settler

  constructor(options: CrashClaimsOptions) {
    const patience = { clock: systemClock, until: AbortSignal.abort() }
    this.#options = options
    this.#journals = new JournalStore(options.database, patience)
    this.#settler = new Settler(options.database, this.#workerId, patience)
  }

  /** One claim, to its end or its death. `of`: whose it is. Undefined: there is none, or it came to neither. */
  async play(id: string, workflow: Workflow, fuse: CrashFuse, of: string): Promise<PlayedClaim | undefined> {
    const { timeoutMs, database, handlerClock } = this.#options
    const lease_ms = workflow.definition.leaseMs
    const {
      claims: [claim],
    } = await claimRuns(database, this.#workerId, [{ id, lease_ms }], false)
    if (!claim) return undefined
    fuse.changed()
    const log = new StrayLog()
    const mortal = new Mortal(fuse, handlerClock, of)
    const { definition } = withRun(workflow, (run) => mortal.run(run))
    const journal = mortal.journal(this.#journalOf(claim))
    const { clock } = mortal
    const execution = new Execution({
      definition,
      claim,
      journal,
      lease: this.#leaseOf(claim),
      clock,
      log,
      trace: untracedClaim,
    })
    const ending = await within(timeoutMs, Promise.race([execution.run(), mortal.died]))
    if (ending === tooLate) {
      mortal.die()
      return undefined
    }
    if (ending) await this.#settle(claim, ending, mortal)
    if (mortal.isDead) await mortal.landed()
    const { began, memos } = mortal
    const kept = [...memos.keys()]
    const isDone = ending?.outcome.kind === 'done' || ending?.outcome.kind === 'continued'
    // A run that undoes another one comes to the other's steps in an order of its own.
    if (!isDone || claim.undone) return { began, kept, strayed: log.step, history: undefined }
    const strayed = log.step ?? execution.unread[0]?.key
    const history = { workflow, claim, memos: memosOf(claim, mortal, ending), answer: answerOf(ending) }
    return { began, kept, strayed, history }
  }

  async #settle(claim: Claim, ending: Ending, mortal: Mortal): Promise<void> {
    const { outcome } = ending
    if (outcome.kind === 'lost') return
    if (mortal.pass('before the claim ends')) return
    await this.#settler.settle(claim, { ...ending, outcome })
    mortal.act()
    mortal.pass('after the claim has ended')
  }

  #journalOf(claim: Claim): Journal {
    const journal = this.#journals.open(claim)
    return {
      memos: journal.memos,
      tries: journal.tries,
      keep: (memo) => journal.keep(memo),
      transact: (body) => journal.transact(body),
      open: (wait) => journal.open(this.#options.subjects.child(wait)),
      progress: (value) => journal.progress(value),
    }
  }

  #leaseOf(claim: Claim): Lease {
    const { database } = this.#options
    return { expiresAt: claim.leaseUntil, extend: async (ms) => (await extendLease(database, claim, ms)).until }
  }
}

function answerOf({ outcome }: Ending): History['answer'] {
  return outcome.kind === 'done' ? { output: decode(outcome.output.json, outcome.output.types) } : undefined
}

function memosOf(claim: Claim, mortal: Mortal, { failures }: Ending): Memo[] {
  const { attempt, token } = claim
  // A failure may have been kept while the claim came to its end.
  const made = new Map([...failures, ...mortal.memos.values()].map((memo) => [memo.key, { ...memo, attempt, token }]))
  return [...claim.memos, ...made.values()].toSorted((a, b) => a.seq - b.seq)
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
