import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, NonRetryableError, TimeoutError, type ErrorClass, type RunRef } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { loseWorker, patiently, quickTimings, reached } from './record.ts'

const database = useDatabase()

class Declined extends Error {
  override readonly name = 'PaymentError'
  readonly #card = 'not stored'
  readonly limit: { readonly cents: number }

  constructor(cents: number, options?: ErrorOptions) {
    super(`declined at ${cents}`, options)
    this.limit = { cents }
  }

  get hasCard(): boolean {
    return #card in this && this.#card.length > 0
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
  const { name, message, code, limit, field, cause, errors } = error as Record<string, unknown>
  const classes = [Error, Declined, TypeError, AggregateError, RangeError, NonRetryableError, TimeoutError]
  return {
    name,
    message,
    code,
    limit,
    field,
    isA: classes.filter((Class: ErrorClass) => error instanceof Class).map((Class) => Class.name),
    cause: cause === undefined ? undefined : look(cause),
    errors: Array.isArray(errors) ? errors.map(look) : undefined,
  }
}

test('STEP-06: a handler sees the error of a step alike in the claim that threw it and in the next', async () => {
  const kinds = Object.keys(makers)
  const seen = new Map<string, unknown[]>()
  let bodies = 0
  const workflows = [true, false].map((isListed) =>
    defineWorkflow({
      name: isListed ? 'listed' : 'not listed',
      lease: '1.5s',
      input: z.string(),
      errors: isListed ? [Declined] : [],
      handler: async (kind, run) => {
        try {
          await run.step('pay', () => {
            bodies++
            throw makers[kind]?.()
          })
        } catch (error) {
          seen.set(run.id, [...(seen.get(run.id) ?? []), look(error)])
        }
        await run.step('note', () => 1)
        if (run.attempt > 1) return 'went past it'
        return await new Promise(() => undefined)
      },
    }),
  )
  const client = openClient(database)
  await startWorker(database, { workflows, timings: quickTimings })
  const runs = await Promise.all(
    workflows.flatMap((workflow) =>
      kinds.map(async (kind) => ({ kind, list: workflow.name, run: await client.start(workflow, kind) })),
    ),
  )
  // Once each has gone past its error.
  for (const { run } of runs) {
    await vi.waitFor(async () => expect(await keysOf(run)).toEqual(['note', 'pay']), patiently)
    await loseWorker(database, run)
  }
  for (const { kind, list, run } of runs) {
    const output = await client.result(run)
    const [first, second] = seen.get(run.id) ?? []
    expect({ kind, list, output, second }).toEqual({ kind, list, output: 'went past it', second: first })
    if (kind !== 'a class of its own') continue
    expect(first).toMatchObject({
      name: 'PaymentError',
      message: 'declined at 500',
      limit: { cents: 500 },
      isA: list === 'listed' ? ['Error', 'Declined'] : ['Error'],
      cause: { message: 'inner', code: 'E_CARD' },
    })
  }
  expect(bodies).toBe(runs.length)
})

async function keysOf({ id }: RunRef): Promise<string[]> {
  const { rows } = await database.query<{ key: string }>(
    'select key from holdfast.steps where run_id = $1 order by key',
    [id],
  )
  return rows.map(({ key }) => key)
}

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
        seen.push([error instanceof Declined, (error as Declined).hasCard])
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
