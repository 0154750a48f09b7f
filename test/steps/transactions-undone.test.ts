import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, LeaseLostError, type Queryable } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { isPointless } from '../support/variant.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { rowsOf, rowsTable } from './inserting.ts'

/** What makes the body of a run.transaction run again, and what does not. */

const database = useDatabase()

beforeAll(async () => {
  await database.query(rowsTable)
  await database.query('create table accounts (name text primary key, cents int not null)')
  await database.query(`insert into accounts values ('ada', 0), ('ben', 0)`)
})

const raise = (code: string): string => `do $$ begin raise exception 'undone' using errcode = '${code}'; end $$`

/** What a body may make of the error of a query. */
const manners: Readonly<Record<string, (query: Promise<unknown>) => Promise<unknown>>> = {
  'lets it through': (query) => query,
  'wraps it': (query) =>
    query.catch((cause: unknown) => {
      throw new Error('my own words', { cause })
    }),
  'swallows it': (query) => query.catch(() => undefined),
}

const undone = Object.keys(manners).flatMap((manner) => ['40001', '40P01'].map((code) => ({ manner, code })))

test.each(undone)(
  'STEP-05: what $code undid runs again, in the same try, also where the body $manner',
  async ({ manner, code }) => {
    let bodies = 0
    const workflow = defineWorkflow({
      name: 'undone',
      maxAttempts: 1,
      handler: (_, run) =>
        run.transaction('insert', async (tx, step) => {
          bodies += 1
          await tx.query('insert into public.rows values ($1, $2)', [run.id, 'one'])
          if (bodies < 3) await manners[manner]?.(tx.query(raise(code)))
          return step.try
        }),
    })
    await startWorker(database, { workflows: [workflow] })
    const client = openClient(database)
    const run = await client.start(workflow)
    expect(await client.result(run)).toBe(1)
    expect([bodies, await rowsOf(database, run.id)]).toEqual([3, ['one']])
  },
)

const isShort = isPointless('statement-timeout', 'Postgres looks for dead locks after a second')
const isAlone = isPointless('pool-of-2', 'half of that pool is one transaction at a time')

test.skipIf(isShort || isAlone)('STEP-05: two transactions in a dead lock both commit, once', async () => {
  const workflow = defineWorkflow({
    name: 'locks two rows',
    maxAttempts: 1,
    input: z.object({ names: z.tuple([z.string(), z.string()]) }),
    handler: async ({ names: [first, second] }, run) =>
      await run.transaction('move', async (tx) => {
        await add(tx, first)
        met.push(run.id)
        if (met.length === 2) both.give()
        await both.promise
        await add(tx, second)
      }),
  })
  const met: string[] = []
  const both = signal()
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const runs = [
    await client.start(workflow, { names: ['ada', 'ben'] }),
    await client.start(workflow, { names: ['ben', 'ada'] }),
  ]
  await Promise.all(runs.map((run) => client.result(run)))
  expect(met.length).toBeGreaterThan(2)
  const { rows } = await database.query('select cents from accounts')
  expect(rows).toEqual([{ cents: 2 }, { cents: 2 }])
})

async function add(tx: Queryable, name: string): Promise<void> {
  await tx.query('update public.accounts set cents = cents + 1 where name = $1', [name])
}

test.each(['before its first query', 'between two queries', 'after its last query'])(
  'STEP-05: a body whose session is terminated %s runs again on another, and its rows are there once',
  async (moment) => {
    let bodies = 0
    const workflow = defineWorkflow({
      name: 'terminated',
      maxAttempts: 1,
      handler: (_, run) =>
        run.transaction('insert', async (tx) => {
          bodies += 1
          const { rows } = await tx.query('select pg_backend_pid() as pid')
          const terminate = async (at: string): Promise<void> => {
            if (bodies > 1 || at !== moment) return
            const [{ pid }] = rows as [{ pid: number }]
            await database.query('select pg_terminate_backend($1, 5000)', [pid])
          }
          await terminate('before its first query')
          await tx.query('insert into public.rows values ($1, $2)', [run.id, 'one'])
          await terminate('between two queries')
          await tx.query('insert into public.rows values ($1, $2)', [run.id, 'two'])
          await terminate('after its last query')
          return bodies
        }),
    })
    await startWorker(database, { workflows: [workflow] })
    const client = openClient(database)
    const run = await client.start(workflow)
    expect(await client.result(run)).toBe(2)
    expect(await rowsOf(database, run.id)).toEqual(['one', 'two'])
  },
)

const foreign: Readonly<Record<string, () => Error>> = {
  'a refused connection to something else': () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
  'a dead lock in another database': () => Object.assign(new Error('deadlock detected'), { code: '40P01' }),
  'the lost lease of another run': () => new LeaseLostError('not this one', 'superseded'),
}

test.each(Object.entries(foreign))('STEP-05: %s that the body throws is a failure like any other', async (_, error) => {
  let bodies = 0
  const workflow = defineWorkflow({
    name: 'throws its own',
    maxAttempts: 2,
    retry: { initial: 0 },
    handler: async (__, run) =>
      await run.transaction('insert', async (tx) => {
        bodies += 1
        await tx.query('insert into public.rows values ($1, $2)', [run.id, `attempt ${run.attempt}`])
        if (run.attempt === 1) throw error()
        return run.attempt
      }),
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  expect(await client.result(run)).toBe(2)
  expect([bodies, await rowsOf(database, run.id)]).toEqual([2, ['attempt 2']])
})

test('STEP-05: what a body calls on run is refused, and nothing is committed', async () => {
  const workflow = defineWorkflow({
    name: 'a step inside',
    maxAttempts: 1,
    handler: (_, run) =>
      run.transaction('outer', async (tx) => {
        const inner = run.step('inner', () => 1)
        await tx.query('insert into public.rows values ($1, $2)', [run.id, 'one'])
        return await inner
      }),
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const run = await client.start(workflow)
  await expect(client.result(run)).rejects.toMatchObject({ cause: { code: 'ARGUMENT', field: 'name' } })
  expect(await rowsOf(database, run.id)).toEqual([])
})
