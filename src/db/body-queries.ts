import type { PoolClient } from 'pg'
import { ArgumentError, ClosedError } from '../model/errors.ts'
import type { Queryable } from '../model/run.ts'
import { isConnectionLoss, isUndone } from './database-errors.ts'

/** Begins, ends or prepares a transaction. Savepoints do none of that. */
const boundary =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/i

/** A session's queries as the body of a transaction has them, until it has ended. */
export class BodyQueries implements Queryable {
  readonly #client: PoolClient
  #underWay = 0
  #isClosed = false
  #setback: Error | undefined
  #failure: Error | undefined

  constructor(client: PoolClient) {
    this.#client = client
  }

  /** What a query met after which the transaction is to be run again. */
  get setback(): Error | undefined {
    return this.#setback
  }

  /** What the first query that failed met. */
  get failure(): Error | undefined {
    return this.#failure
  }

  get isBusy(): boolean {
    return this.#underWay > 0
  }

  // Bound, since libraries take it off and pass it on; some give a callback, as pg takes one.
  readonly query: Queryable['query'] = (...args) => {
    const last: unknown = args.at(-1)
    if (typeof last !== 'function') return this.#send(args)
    const callback = last as (error: unknown, result?: unknown) => void
    this.#send(args.slice(0, -1) as Parameters<Queryable['query']>).then(
      (result) => callback(null, result),
      (error: unknown) => callback(error),
    )
    return undefined as never
  }

  #send(args: Parameters<Queryable['query']>): ReturnType<Queryable['query']> {
    const refusal = this.#isClosed
      ? tooLate()
      : isSubmittable(args[0])
        ? notOfPromises()
        : boundary.test(textOf(args[0]))
          ? notTheBodys()
          : undefined
    if (refusal) {
      const refused = Promise.reject(refusal)
      // A query that nobody awaits must not end the process when it is refused.
      refused.catch(() => undefined)
      return refused
    }
    this.#underWay += 1
    const answer = this.#client.query(...args)
    answer.then(
      () => void (this.#underWay -= 1),
      (error: Error) => {
        this.#underWay -= 1
        this.#failure ??= error
        if (isConnectionLoss(error) || isUndone(error)) this.#setback ??= error
      },
    )
    return answer
  }

  close(): void {
    this.#isClosed = true
  }
}

/** Of a text, or of the object that libraries give pg instead. */
function textOf(query: unknown): string {
  if (typeof query === 'string') return query
  const isObject = typeof query === 'object' && query !== null
  return isObject && 'text' in query && typeof query.text === 'string' ? query.text : ''
}

/** A cursor or stream, which pg takes too and of whose end nobody here would hear. */
function isSubmittable(query: unknown): boolean {
  return typeof query === 'object' && query !== null && 'submit' in query && typeof query.submit === 'function'
}

function notOfPromises(): ArgumentError {
  return new ArgumentError('The transaction of a step takes no cursor or stream.', {
    field: 'tx',
    remedy: 'Read in pieces, with limit and a key to go on from, or declare a cursor in SQL.',
  })
}

function tooLate(): ClosedError {
  return new ClosedError('The transaction has ended.', { remedy: 'Await every query in its body.' })
}

function notTheBodys(): ArgumentError {
  return new ArgumentError('The body of a transaction neither begins nor ends it.', {
    field: 'tx',
    remedy: 'It is committed with its memo when the body returns, undone when it throws; savepoints may be used.',
  })
}
