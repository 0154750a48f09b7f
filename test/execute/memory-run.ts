import { Execution } from '../../src/execute/execution.ts'
import { LeaseLostError, type Logger, type Workflow } from '../../src/index.ts'
import { noPast, type Claim, type Undone } from '../../src/model/claim.ts'
import { systemClock, type Clock } from '../../src/model/clock.ts'
import type { Journal, Memo, NewMemo, PendingTry, StoredOutcome } from '../../src/model/journal.ts'
import type { Ending } from '../../src/model/outcome.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { untracedClaim } from '../../src/trace/untraced.ts'
import { dying, type Death, type DyingJournal } from './dying-journal.ts'
import { isFinal, type ClaimOptions, type PlayedRun } from './played-run.ts'
import { MemoryWaits, type MemorySignal } from './memory-waits.ts'
import { turn } from './turn.ts'
import { unleased } from './unleased.ts'

/** A run whose history is in memory: the journal's second implementation beside Postgres, with the same fence. */

export interface MemoryRunOptions {
  /** What earlier claims kept. */
  readonly memos?: readonly Memo[]
  readonly clock?: Clock
  readonly logger?: Logger
  /** Steps of the first claim that wait for a try of their own. */
  readonly tries?: readonly PendingTry[]
  /** How many turns of the event loop each memo takes to become durable, in turn; the first comes again after the last. */
  readonly turnsToKeep?: readonly number[]
  /** Which transactions are undone once, so that their bodies run again; in turn, like the above. */
  readonly undone?: readonly boolean[]
  /** How many turns of the event loop the answer about a wait is under way. */
  readonly turnsToOpen?: number
  /** What comes for its waits; more only once nothing else is left. */
  readonly signals?: readonly MemorySignal[]
  /** The run that it undoes. */
  readonly undoes?: Undone
}

export interface BegunClaim {
  readonly execution: Execution
  readonly journal: DyingJournal
  readonly ending: Promise<Ending>
}

export class MemoryRun implements PlayedRun {
  readonly #options: MemoryRunOptions
  readonly #memos = new Map<string, Memo>()
  readonly #waits: MemoryWaits
  #execution: Execution | undefined
  #tries: readonly PendingTry[]
  #attempt = 0
  #isResuming = false
  #token = 0
  #sent = 0
  #transacted = 0

  constructor(options: MemoryRunOptions = {}) {
    this.#options = options
    this.#tries = options.tries ?? []
    this.#waits = new MemoryWaits(options.signals)
    for (const memo of options.memos ?? []) this.#memos.set(memo.key, memo)
  }

  memos(): Promise<readonly Memo[]> {
    return Promise.resolve(this.#inOrder)
  }

  async claim(workflow: Workflow, { death, onBegin }: ClaimOptions = {}): Promise<Ending | undefined> {
    const { ending, journal } = this.begin(workflow, death)
    onBegin?.(journal)
    return await Promise.race([ending, journal.died])
  }

  /** Begins a claim, for a test that interferes with it. */
  begin(workflow: Workflow, death?: Death): BegunClaim {
    const { clock = systemClock, logger: log = silentLogger } = this.#options
    this.#token += this.#token % 2 === 0 ? 1 : 2
    if (!this.#isResuming) this.#attempt += 1
    this.#isResuming = false
    const token = this.#token
    const journal = dying(this.#journal(token, this.#attempt), death)
    // Steps that wait for a try of their own do so within their attempt.
    this.#tries = []
    const { definition } = workflow
    const claim: Claim = {
      id: '00000000-0000-7000-8000-000000000000',
      token,
      workflow: workflow.name,
      key: undefined,
      group: undefined,
      isLimited: false,
      attempt: this.#attempt,
      maxAttempts: definition.maxAttempts,
      metadata: {},
      leaseUntil: new Date(Number.NaN),
      deadlineMs: undefined,
      input: { json: 'null', types: null },
      memos: journal.memos,
      tries: journal.tries,
      retries: 0,
      undone: this.#options.undoes,
      past: noPast,
    }
    const execution = new Execution({ definition, claim, journal, lease: unleased, clock, log, trace: untracedClaim })
    this.#execution = execution
    const ending = execution.run().then((end) => {
      if (!journal.isDead() && token === this.#token) this.#settle(end)
      return end
    })
    return { execution, journal, ending }
  }

  isOver(ending: Ending | undefined, workflow: Workflow): boolean {
    return isFinal(ending, this.#attempt, workflow)
  }

  get #inOrder(): readonly Memo[] {
    return [...this.#memos.values()].toSorted((a, b) => a.seq - b.seq)
  }

  #journal(token: number, attempt: number): Journal {
    const keep = async (memo: NewMemo): Promise<StoredOutcome> => {
      const { turnsToKeep = [1] } = this.#options
      this.#pass()
      for (let left = turnsToKeep[this.#sent++ % turnsToKeep.length] ?? 1; left > 0; left -= 1) await turn()
      if (token !== this.#token) throw new LeaseLostError('The claim has ended.', 'not_found')
      return this.#store(memo, token, attempt)
    }
    return {
      memos: this.#inOrder,
      tries: this.#tries,
      progress: () => undefined,
      keep,
      open: async (wait) => {
        this.#pass()
        if (token !== this.#token) throw new LeaseLostError('The claim has ended.', 'not_found')
        const answer = await this.#waits.open(wait, keep)
        for (let left = this.#options.turnsToOpen ?? 0; left > 0; left -= 1) await turn()
        return answer
      },
      transact: async (body) => {
        const { undone = [false] } = this.#options
        const tx = { query: () => Promise.resolve({ rows: [] }) }
        if (undone[this.#transacted++ % undone.length]) await body(tx)
        return await keep(await body(tx))
      },
    }
  }

  #pass(): void {
    if (this.#waits.pass()) this.#execution?.hear()
  }

  /** Write-once: answers what is stored. */
  #store(memo: NewMemo, token: number, attempt: number): StoredOutcome {
    const stored = this.#memos.get(memo.key) ?? { ...memo, token, attempt }
    this.#memos.set(memo.key, stored)
    return stored
  }

  #settle({ outcome, failures, tries }: Ending): void {
    for (const failure of failures) this.#store(failure, this.#token, this.#attempt)
    this.#token += 1
    this.#execution = undefined
    this.#isResuming = outcome.kind === 'suspended' || outcome.kind === 'snooze' || outcome.kind === 'released'
    // Its next claim comes when the waits are over.
    for (const memo of this.#waits.end(this.#inOrder.at(-1)?.seq ?? 0)) this.#store(memo, this.#token, this.#attempt)
    this.#tries = tries.flatMap(({ key, tries: count, retryMs }) =>
      retryMs === undefined ? [] : [{ key, tries: count, waitMs: 0 }],
    )
  }
}
