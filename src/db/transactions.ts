import type { PoolClient } from 'pg'
import type { Claim } from '../model/claim.ts'
import type { NewMemo, StoredOutcome } from '../model/journal.ts'
import type { Queryable } from '../model/run.ts'
import { BodyQueries } from './body-queries.ts'
import { keepItem, keepOnce, storedOrLost } from './claim-calls.ts'
import { codeOf, isConnectionLoss, isUndone } from './database-errors.ts'
import type { Database } from './database.ts'
import { patiently, type Patience } from './patience.ts'

/**
 * Runs the bodies of `run.transaction`, so that what they wrote and their memo commit together, once:
 *
 * 1. The memo, and with it the fence, is the last statement before the commit.
 * 2. Whether a body runs again is read from what the database said to its queries, whatever the body made of that:
 *    what it throws of its own may look just like it.
 * 3. A commit whose answer was lost is looked up before the body runs again: it would meet its own rows.
 * 4. At most half the pool is in transactions.
 */
export class Transactions {
  readonly #database: Database
  readonly #patience: Patience
  readonly #turns: (() => void)[] = []
  #freeTurns: number

  constructor(database: Database, patience: Patience) {
    this.#database = database
    this.#patience = patience
    this.#freeTurns = Math.max(1, Math.floor(database.size / 2))
  }

  async run(claim: Claim, body: (tx: Queryable) => Promise<NewMemo>): Promise<StoredOutcome> {
    await this.#takeTurn()
    try {
      const transaction = new Transaction(this.#database, claim, body)
      const end = await patiently(this.#patience, () => this.#persistently(transaction))
      if ('thrown' in end) throw end.thrown
      return end.stored
    } finally {
      this.#giveTurn()
    }
  }

  /** As often as the database undoes it and asks for it again. */
  async #persistently(transaction: Transaction): Promise<End> {
    const { clock } = this.#patience
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#database.withSession((client, discard) => transaction.on(client, discard))
      } catch (error) {
        if (!isUndone(error) || tries >= 10) throw error
        await clock.sleep(clock.random() * 20 * tries)
      }
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

/** What became of a transaction that need not run again: its memo, or what its body threw. */
type End = { readonly stored: StoredOutcome } | { readonly thrown: unknown }

const begin =
  'begin isolation level read committed; set local lock_timeout to default; set local statement_timeout to default'

class Transaction {
  readonly #database: Database
  readonly #claim: Claim
  readonly #body: (tx: Queryable) => Promise<NewMemo>
  /** Its commit was sent, and the answer has not come. */
  #unsure: NewMemo | undefined

  constructor(database: Database, claim: Claim, body: (tx: Queryable) => Promise<NewMemo>) {
    this.#database = database
    this.#claim = claim
    this.#body = body
  }

  /** Runs it on a session. What it throws is the session's or the fence's doing. */
  async on(client: PoolClient, discard: () => void): Promise<End> {
    const stored = this.#unsure && (await this.#lookUp(client, this.#unsure))
    if (stored) return { stored }
    this.#unsure = undefined
    await client.query(begin)
    const queries = new BodyQueries(client)
    let isBody = true
    try {
      const memo = await this.#body(queries)
      isBody = false
      queries.close()
      return { stored: await this.#commit(client, memo) }
    } catch (error) {
      queries.close()
      const { setback, failure } = queries
      const isThrown = isBody && setback === undefined
      // A query still under way would hold the rollback up, and with it whoever waits for the body's end.
      if (queries.isBusy) discard()
      else if (isThrown || !isConnectionLoss(setback ?? error)) await client.query('rollback')
      if (isThrown) return { thrown: error }
      if (setback === undefined && isAborted(error)) return { thrown: failure ?? error }
      throw setback ?? error
    }
  }

  async #commit(client: PoolClient, memo: NewMemo): Promise<StoredOutcome> {
    const stored = await this.#keep(client, memo)
    if (stored) {
      await client.query('rollback')
      return stored
    }
    this.#unsure = memo
    await client.query('commit')
    return memo
  }

  /**
   * Whether the memo is there already, by keeping it again: a commit that is still under way holds its place and is
   * waited for.
   */
  async #lookUp(client: PoolClient, memo: NewMemo): Promise<StoredOutcome | undefined> {
    await client.query(begin)
    try {
      return await this.#keep(client, memo)
    } finally {
      await client.query('rollback')
    }
  }

  /** Answers the memo that was there already, which another commit made. */
  async #keep(client: PoolClient, memo: NewMemo): Promise<StoredOutcome | undefined> {
    const problem = await keepOnce(this.#database, keepItem(this.#claim, memo), client)
    const stored = problem && storedOrLost(this.#claim.id, problem)
    if (stored instanceof Error) throw stored
    return stored
  }
}

/** The body went on after one of its queries had failed. */
function isAborted(error: unknown): boolean {
  return codeOf(error) === '25P02'
}
