import type { PoolClient } from 'pg'
import type { Claim } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'
import type { Encoded } from '../model/codec.ts'
import { ClosedError, LeaseLostError, type LeaseLostReason } from '../model/errors.ts'
import type { Journal, Memo, NewMemo, PendingTry, StoredOutcome } from '../model/journal.ts'
import type { Queryable } from '../model/run.ts'
import { Batcher } from './batcher.ts'
import { keepItem, keepProgress, keepSteps, toStored, type KeepItem, type KeepProblem } from './calls.ts'
import { isConnectionLoss, isSerializationFailure } from './database-errors.ts'
import type { Database } from './database.ts'
import { patiently, type Patience } from './patience.ts'

/**
 * Where the claims of one worker keep their outcomes. Outcomes of all runs in flight share statements and commits; a
 * write that meets connection loss is sent again, which its key makes safe.
 */
export class JournalStore {
  readonly #database: Database
  readonly #patience: Patience
  readonly #clock: Clock
  readonly #memos: Batcher<KeepItem, KeepProblem | undefined>
  readonly #progress: Batcher<ProgressItem, undefined>
  /** Turns for transactions: at most half the pool is theirs. */
  readonly #turns: (() => void)[] = []
  #freeTurns: number

  constructor(database: Database, patience: Patience) {
    const { clock } = patience
    this.#database = database
    this.#patience = patience
    this.#clock = clock
    this.#freeTurns = Math.max(1, Math.floor(database.size / 2))
    this.#memos = new Batcher({
      clock,
      until: patience.until,
      sizeOf: (item) => item.value.length + (item.types?.length ?? 0) + (item.args?.length ?? 0) + 200,
      flush: (items) => patiently(patience, async () => placed(items.length, await keepSteps(database, items))),
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

  async keep(claim: Claim, memo: NewMemo): Promise<StoredOutcome> {
    const problem = await this.#memos.add(keepItem(claim, memo))
    return problem ? storedOrLost(claim, problem) : memo
  }

  progress(claim: Claim, { json, types }: Encoded): void {
    this.#progress.add({ id: claim.id, token: claim.token, value: json, types }).catch(() => undefined)
  }

  async transact(claim: Claim, body: (tx: Queryable) => Promise<NewMemo>): Promise<StoredOutcome> {
    await this.#takeTurn()
    try {
      const result = await patiently(this.#patience, () => this.#transactAgain(claim, body))
      if ('thrown' in result) throw result.thrown
      return result.stored
    } finally {
      this.#giveTurn()
    }
  }

  async #transactAgain(claim: Claim, body: (tx: Queryable) => Promise<NewMemo>): Promise<Transacted> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#database.withSession((client, discard) => this.#transactOn(client, discard, claim, body))
      } catch (error) {
        if (!isSerializationFailure(error) || tries >= 10) throw error
        await this.#clock.sleep(this.#clock.random() * 20 * tries)
      }
    }
  }

  /**
   * The memo, and with it the fence, is the last statement before the commit. Whether the database asks for another try
   * is read from what it said, whatever the body made of that: what a body throws of its own may look just like it.
   */
  async #transactOn(
    client: PoolClient,
    discard: () => void,
    claim: Claim,
    body: (tx: Queryable) => Promise<NewMemo>,
  ): Promise<Transacted> {
    await client.query(
      'begin isolation level read committed; set local lock_timeout to default; set local statement_timeout to default',
    )
    const queries = new BodyQueries(client)
    let isBody = true
    try {
      const memo = await body(queries)
      isBody = false
      queries.close()
      const [problem] = await keepSteps(this.#database, [keepItem(claim, memo, true)], client)
      await client.query(problem ? 'rollback' : 'commit')
      return { stored: problem ? storedOrLost(claim, problem) : memo }
    } catch (error) {
      queries.close()
      const { setback } = queries
      const isThrown = isBody && setback === undefined
      // A query still under way would hold the rollback up, and with it whoever waits for the body's end.
      if (queries.isBusy) discard()
      else if (isThrown || !isConnectionLoss(setback ?? error)) await client.query('rollback')
      if (isThrown) return { thrown: error }
      throw setback ?? error
    }
  }

  async #takeTurn(): Promise<void> {
    if (this.#freeTurns > 0) this.#freeTurns -= 1
    else await new Promise<void>((resolve) => this.#turns.push(resolve))
  }

  #giveTurn(): void {
    const next = this.#turns.shift()
    if (next) next()
    else this.#freeTurns += 1
  }
}

/** What became of a transaction that nothing need be done again for. */
type Transacted = { readonly stored: StoredOutcome } | { readonly thrown: unknown }

/** A session's queries as a body has them, until the body has ended. */
class BodyQueries implements Queryable {
  readonly #client: PoolClient
  #underWay = 0
  #isClosed = false
  #setback: Error | undefined

  constructor(client: PoolClient) {
    this.#client = client
  }

  /** What a query met after which the transaction is to be run again. */
  get setback(): Error | undefined {
    return this.#setback
  }

  get isBusy(): boolean {
    return this.#underWay > 0
  }

  // Bound, since libraries take it off and pass it on.
  readonly query: Queryable['query'] = (...args) => {
    if (this.#isClosed) {
      return Promise.reject(new ClosedError('The transaction has ended.', { remedy: 'Await every query in its body.' }))
    }
    this.#underWay += 1
    const answer = this.#client.query(...args)
    answer.then(
      () => void (this.#underWay -= 1),
      (error: Error) => {
        this.#underWay -= 1
        if (isConnectionLoss(error) || isSerializationFailure(error)) this.#setback ??= error
      },
    )
    return answer
  }

  close(): void {
    this.#isClosed = true
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

  progress(value: Encoded): void {
    this.#store.progress(this.#claim, value)
  }
}

function placed(count: number, problems: readonly KeepProblem[]): (KeepProblem | undefined)[] {
  const places = Array.from<KeepProblem | undefined>({ length: count })
  for (const problem of problems) places[problem.n - 1] = problem
  return places
}

function storedOrLost(claim: Claim, problem: KeepProblem): StoredOutcome {
  if (problem.lost) throw leaseLost(claim.id, problem.lost)
  return toStored(problem)
}

export function leaseLost(runId: string, reason: LeaseLostReason): LeaseLostError {
  return new LeaseLostError(`The lease on run ${runId} was lost (${reason}).`, reason)
}
