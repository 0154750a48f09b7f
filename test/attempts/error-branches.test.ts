import { expect, test } from 'vitest'
import { defineWorkflow, NonRetryableError, TimeoutError, type ErrorClass } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { loseWorker, quickTimings, reached } from './record.ts'

const database = useDatabase()

class Declined extends Error {
  override readonly name = 'PaymentError'
  readonly #secret = 'not stored'
  readonly limit: { readonly cents: number }

  constructor(cents: number, options?: ErrorOptions) {
    super(`declined at ${cents}`, options)
    this.limit = { cents }
  }

  get hasSecret(): boolean {
    return #secret in this
  }
}

const makers: Readonly<Record<string, () => unknown>> = {
  'a class of its own': () => new Declined(500, { cause: Object.assign(new Error('inner'), { code: 'E_CARD' }) }),
  'a TypeError': () => new TypeError('no function', { cause: { code: 'E_PLAIN' } }),
  'an AggregateError': () => new AggregateError([new Declined(1), new RangeError('r')], 'both'),
  "one of Holdfast's own": () => new NonRetryableError('no use', { field: 'card', cause: new Declined(2) }),
  'a text': () => 'just text',
  nothing: () => undefined,
}

/** All that a handler can branch on. */
function look(error: unknown): object {
  const { name, message, code, limit, field, cause, errors } = error as Record<string, never>
  const classes = [Error, Declined, TypeError, AggregateError, RangeError, NonRetryableError, TimeoutError]
  return {
    name,
    message,
    code,
    limit,
    field,
    isA: classes.filter((Class: ErrorClass) => error instanceof Class).map((Class) => Class.name),
    cause: cause && look(cause),
    errors: errors && (errors as unknown[]).map(look),
  }
}

const cases = Object.entries(makers).flatMap(([what, make]) =>
  [true, false].map((isListed) => [what, isListed ? 'listed' : 'not listed', make, isListed] as const),
)

test.each(cases)(
  'STEP-06: a handler sees %s, %s in errors, alike in the claim that threw it and in the next',
  async (what, listed, make, isListed) => {
    const begun = signal()
    const seen: unknown[] = []
    let bodies = 0
    const branching = defineWorkflow({
      name: `${what} ${listed}`.replaceAll("'", ''),
      lease: '1.5s',
      errors: isListed ? [Declined] : [],
      handler: async (_, run) => {
        try {
          await run.step('pay', () => {
            bodies++
            throw make()
          })
        } catch (error) {
          seen.push(look(error))
        }
        await run.step('note', () => 1)
        if (seen.length === 1) {
          begun.give()
          await new Promise(() => undefined)
        }
        return 'went past it'
      },
    })
    const client = openClient(database)
    await startWorker(database, { workflows: [branching], timings: quickTimings })
    const run = await client.start(branching)
    await begun.promise
    await loseWorker(database, run)
    expect(await client.result(run)).toBe('went past it')
    expect(bodies).toBe(1)
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    if (what !== 'a class of its own') return
    expect(seen[0]).toMatchObject({
      name: 'PaymentError',
      message: 'declined at 500',
      limit: { cents: 500 },
      isA: isListed ? ['Error', 'Declined'] : ['Error'],
      cause: { message: 'inner', code: 'E_CARD' },
    })
  },
)

test('STEP-06: without a crash between, a retried attempt runs the step again, and its error is as before', async () => {
  const seen: unknown[] = []
  const branching = defineWorkflow({
    name: 'retried',
    maxAttempts: 2,
    retry: { initial: 0 },
    errors: [Declined],
    handler: async (_, run) => {
      try {
        await run.step('pay', () => {
          throw new Declined(500)
        })
      } catch (error) {
        seen.push([error instanceof Declined, (error as Declined).hasSecret])
        throw error
      }
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [branching], timings: quickTimings })
  const run = await client.start(branching)
  const { error } = await reached(database, run, { state: 'failed', attempt: 2 })
  // The stored form is all there is of it, from the first run on: its constructor did not run.
  expect(seen).toEqual([
    [true, false],
    [true, false],
  ])
  expect(error).toMatchObject({ name: 'PaymentError', class: 'Declined', fields: { limit: { cents: 500 } } })
})
