import { Execution } from '../../src/execute/execution.ts'
import type { Logger, Workflow } from '../../src/index.ts'
import type { Claim } from '../../src/model/claim.ts'
import { systemClock, type Clock } from '../../src/model/clock.ts'
import type { Journal, Memo, NewMemo, PendingTry, StoredOutcome } from '../../src/model/journal.ts'
import type { Ending } from '../../src/model/outcome.ts'
import type { Queryable } from '../../src/model/run.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'

/**
 * A run whose history is in memory: the journal's second implementation beside Postgres, with which a process can die
 * after any memo. What a dead process still does reaches nobody.
 */

export interface MemoryRunOptions {
  readonly clock?: Clock
  readonly logger?: Logger
  /** How many turns of the event loop each memo takes to become durable, in turn; the first comes again after the last. */
  readonly turnsToKeep?: readonly number[]
}

/** The process dies when the memo of that number in this claim, from 1, becomes durable: just before, or just after. */
export interface Death {
  readonly memo: number
  readonly when: 'before' | 'after'
}

export interface ClaimOptions {
  readonly death?: Death | undefined
  /** Like the claim before it, which was suspended or snoozed, it counts no attempt. */
  readonly isResuming?: boolean | undefined
}

export class MemoryRun {
  readonly memos = new Map<string, Memo>()
  readonly options: MemoryRunOptions
  #tries: readonly PendingTry[] = []
  #attempt = 0
  #token = -1
  #kept = 0

  constructor(options: MemoryRunOptions = {}) {
    this.options = options
  }

  get keptInOrder(): readonly Memo[] {
    return [...this.memos.values()].toSorted((a, b) => a.seq - b.seq)
  }

  /** Whether an ending is the run's: the database fails a run whose last attempt asks for another. */
  isOver(ending: Ending | undefined, { definition }: Workflow): boolean {
    const kind = ending?.outcome.kind
    return kind === 'done' || kind === 'failed' || (kind === 'retry' && this.#attempt >= definition.maxAttempts)
  }

  /** Runs one claim to its end. Undefined: its process died. */
  async claim(workflow: Workflow, options: ClaimOptions = {}): Promise<Ending | undefined> {
    const { ending, died } = this.begin(workflow, options)
    return await Promise.race([ending, died])
  }

  /** Begins a claim, for a test that interferes with it. */
  begin(workflow: Workflow, { death, isResuming = false }: ClaimOptions = {}): BegunClaim {
    const { clock = systemClock, logger: log = silentLogger } = this.options
    this.#token += 2
    if (!isResuming) this.#attempt += 1
    const journal = new MemoryJournal(this, this.#token, this.#attempt, death, this.#tries)
    const claim: Claim = {
      id: '00000000-0000-7000-8000-000000000000',
      token: this.#token,
      workflow: workflow.name,
      key: undefined,
      group: undefined,
      attempt: this.#attempt,
      maxAttempts: workflow.definition.maxAttempts,
      metadata: {},
      deadlineMs: undefined,
      input: { json: 'null', types: null },
      memos: journal.memos,
      tries: this.#tries,
    }
    const execution = new Execution({ definition: workflow.definition, claim, journal, clock, log })
    const ending = execution.run().then((end) => {
      if (!journal.isDead) this.#settle(end)
      return end
    })
    return { execution, journal, ending, died: journal.died }
  }

  /** A run with the same history, to replay it. */
  fork(): MemoryRun {
    const fork = new MemoryRun(this.options)
    for (const memo of this.keptInOrder) fork.memos.set(memo.key, memo)
    fork.#token = this.#token
    return fork
  }

  /** Write-once: answers what is stored. */
  store(memo: NewMemo, token: number, attempt: number): StoredOutcome {
    const stored = this.memos.get(memo.key) ?? { ...memo, token, attempt }
    this.memos.set(memo.key, stored)
    return stored
  }

  nextTurns(): number {
    const { turnsToKeep = [1] } = this.options
    return turnsToKeep[this.#kept++ % turnsToKeep.length] ?? 1
  }

  #settle({ failures, tries }: Ending): void {
    for (const failure of failures) this.store(failure, this.#token, this.#attempt)
    this.#tries = tries.flatMap(({ key, tries: count, retryMs }) =>
      retryMs === undefined ? [] : [{ key, tries: count, waitMs: 0 }],
    )
  }
}

export interface BegunClaim {
  readonly execution: Execution
  readonly journal: MemoryJournal
  readonly ending: Promise<Ending>
  readonly died: Promise<undefined>
}

/** What the handler's process sees of the run. */
class MemoryJournal implements Journal {
  readonly memos: readonly Memo[]
  readonly tries: readonly PendingTry[]
  readonly died: Promise<undefined>
  readonly #run: MemoryRun
  readonly #token: number
  readonly #attempt: number
  readonly #death: Death | undefined
  #kept = 0
  #isDead = false
  #onDeath: () => void = () => undefined

  constructor(run: MemoryRun, token: number, attempt: number, death: Death | undefined, tries: readonly PendingTry[]) {
    this.memos = run.keptInOrder
    this.tries = tries
    this.#run = run
    this.#token = token
    this.#attempt = attempt
    this.#death = death
    this.died = new Promise((resolve) => void (this.#onDeath = () => resolve(undefined)))
  }

  get isDead(): boolean {
    return this.#isDead
  }

  async keep(memo: NewMemo): Promise<StoredOutcome> {
    for (let turns = this.#run.nextTurns(); turns > 0; turns -= 1) await turn()
    this.#kept += 1
    if (this.#kept === this.#death?.memo && this.#death.when === 'before') this.die()
    if (this.isDead) return await never()
    const stored = this.#run.store(memo, this.#token, this.#attempt)
    if (this.#kept !== this.#death?.memo) return stored
    this.die()
    return await never()
  }

  /** Nothing is kept any more, and nobody hears of what was. */
  die(): void {
    this.#isDead = true
    this.#onDeath()
  }

  async transact(body: (tx: Queryable) => Promise<NewMemo>): Promise<StoredOutcome> {
    return await this.keep(await body({ query: () => Promise.resolve({ rows: [] }) }))
  }

  progress(): void {}
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}
