import type { Claim } from '../model/claim.ts'
import type { Encoded } from '../model/codec.ts'
import type { LeaseLostError } from '../model/errors.ts'
import type { Journal, Memo, NewMemo, NewWait, PendingTry, StoredOutcome, WaitAnswer } from '../model/journal.ts'
import type { Queryable } from '../model/run.ts'
import { Batcher } from './batcher.ts'
import { keepProgress } from './calls.ts'
import { keepItem, keepSteps, storedOrLost, type KeepItem, type KeepProblem } from './claim-calls.ts'
import type { Database } from './database.ts'
import { once } from './once.ts'
import { patiently, type Patience } from './patience.ts'
import { recordDefinitions } from './record-definitions.ts'
import { Transactions } from './transactions.ts'
import { openWaits, waitItem, type WaitItem } from './wait-calls.ts'

/**
 * Where the claims of one worker keep their outcomes. Outcomes of all runs in flight share statements and commits; a
 * write that meets connection loss is sent again, which its key makes safe.
 */
export class JournalStore {
  readonly #memos: Batcher<KeepItem, StoredOutcome>
  readonly #progress: Batcher<ProgressItem, undefined>
  readonly #waits: Batcher<WaitItem, WaitAnswer>
  readonly #transactions: Transactions
  readonly #database: Database
  readonly #patience: Patience
  /** Definitions of children that this process has put on record. */
  readonly #recorded = new Map<string, Promise<void>>()

  /** `onFlush` is told of each call with many items: which, and how many. */
  constructor(database: Database, patience: Patience, onFlush?: (call: string, size: number) => void) {
    const { clock } = patience
    this.#database = database
    this.#patience = patience
    this.#transactions = new Transactions(database, patience)
    this.#memos = new Batcher<KeepItem, StoredOutcome>({
      onFlush: (size) => onFlush?.('keep', size),
      clock,
      until: patience.until,
      sizeOf: (item) => item.value.length + (item.types?.length ?? 0) + (item.args?.length ?? 0) + 200,
      flush: (items) => patiently(patience, async () => stored(items, await keepSteps(database, items))),
    })
    this.#waits = new Batcher<WaitItem, WaitAnswer>({
      onFlush: (size) => onFlush?.('wait', size),
      clock,
      until: patience.until,
      sizeOf: (item) => (item.child ? item.child.input.length + 600 : 300),
      flush: (items) => patiently(patience, () => openWaits(database, items)),
    })
    this.#progress = new Batcher({
      clock,
      until: patience.until,
      inFlight: 1,
      sizeOf: (item) => item.value.length + 100,
      flush: async (items) => {
        await keepProgress(database, items)
        return items.map(() => undefined)
      },
    })
  }

  open(claim: Claim): Journal {
    return new LiveJournal(this, claim)
  }

  keep(claim: Claim, memo: NewMemo): Promise<StoredOutcome> {
    return this.#memos.add(keepItem(claim, memo))
  }

  async openWait(claim: Claim, wait: NewWait): Promise<WaitAnswer> {
    const workflow = wait.child?.workflow
    if (workflow) {
      await once(this.#recorded, workflow.definition.fingerprint + workflow.name, async () => {
        await patiently(this.#patience, () => recordDefinitions(this.#database, [workflow]))
      })
    }
    return await this.#waits.add(waitItem(claim, wait))
  }

  progress(claim: Claim, { json, types }: Encoded): void {
    this.#progress.add({ id: claim.id, token: claim.token, value: json, types }).catch(() => undefined)
  }

  transact(claim: Claim, body: (tx: Queryable) => Promise<NewMemo>): Promise<StoredOutcome> {
    return this.#transactions.run(claim, body)
  }
}

interface ProgressItem {
  readonly id: string
  readonly token: number
  readonly value: string
  readonly types: string | null
}

class LiveJournal implements Journal {
  readonly memos: readonly Memo[]
  readonly tries: readonly PendingTry[]
  readonly #store: JournalStore
  readonly #claim: Claim

  constructor(store: JournalStore, claim: Claim) {
    this.memos = claim.memos
    this.tries = claim.tries
    this.#store = store
    this.#claim = claim
  }

  keep(memo: NewMemo): Promise<StoredOutcome> {
    return this.#store.keep(this.#claim, memo)
  }

  transact(body: (tx: Queryable) => Promise<NewMemo>): Promise<StoredOutcome> {
    return this.#store.transact(this.#claim, body)
  }

  open(wait: NewWait): Promise<WaitAnswer> {
    return this.#store.openWait(this.#claim, wait)
  }

  progress(value: Encoded): void {
    this.#store.progress(this.#claim, value)
  }
}

/** Of each item what is stored now: its own outcome, or the one that was there before. */
function stored(items: readonly KeepItem[], problems: readonly KeepProblem[]): (StoredOutcome | LeaseLostError)[] {
  const outcomes: (StoredOutcome | LeaseLostError)[] = [...items]
  for (const problem of problems) {
    const at = problem.n - 1
    outcomes[at] = storedOrLost(items[at]?.id ?? '', problem)
  }
  return outcomes
}
