import { drizzle } from 'drizzle-orm/node-postgres'
import { sql as drizzleSql } from 'drizzle-orm'
import knexOf from 'knex'
import { Kysely, PostgresDialect, sql as kyselySql, type PostgresPoolClient } from 'kysely'
import type { PoolClient } from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { defineWorkflow, type Queryable } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

/** What can be built on the `tx` of a run.transaction, and sends through it. */
const wrappers: Readonly<Record<string, (tx: Queryable, text: string) => PromiseLike<unknown>>> = {
  'Drizzle on pg': (tx, text) => drizzle({ client: tx as PoolClient }).execute(drizzleSql.raw(text)),
  Kysely: (tx, text) => {
    const session = { query: tx.query, release: () => undefined } as unknown as PostgresPoolClient
    const pool = { connect: () => Promise.resolve(session), end: () => Promise.resolve() }
    return kyselySql.raw(text).execute(new Kysely<object>({ dialect: new PostgresDialect({ pool }) }))
  },
  Knex: (tx, text) => knex.raw(text).connection(tx),
  'a callback': (tx, text) =>
    new Promise((resolve, reject) => {
      const query = tx.query as unknown as (text: string, done: (error: Error | null, result: unknown) => void) => void
      query(text, (error, result) => (error ? reject(error) : resolve(result)))
    }),
}

const knex = knexOf({ client: 'pg' })
const database = useDatabase()

beforeAll(() => database.query('create table public.notes (text text)'))

async function notesOf(text: string): Promise<number | null> {
  return (await database.query('select from public.notes where text = $1', [text])).rowCount
}

describe.each(Object.entries(wrappers))('%s', (name, send) => {
  test('STEP-05: what it wrote commits with the memo, is undone with what is thrown, and runs again when it was undone', async () => {
    let bodies = 0
    const workflow = defineWorkflow({
      name: `notes by ${name}`,
      maxAttempts: 1,
      handler: async (_, run) => {
        await run.transaction('kept', (tx) =>
          Promise.resolve(send(tx, `insert into public.notes values ('${name} kept')`)).then(() => 1),
        )
        await run
          .transaction('thrown', async (tx) => {
            await send(tx, `insert into public.notes values ('${name} thrown')`)
            throw new Error('no')
          })
          .catch(() => undefined)
        await run.transaction('again', async (tx) => {
          bodies += 1
          await send(tx, `insert into public.notes values ('${name} again')`)
          if (bodies === 1) await send(tx, `do $$ begin raise exception 'undone' using errcode = '40001'; end $$`)
        })
      },
    })
    await startWorker(database, { workflows: [workflow] })
    const client = openClient(database)
    await client.result(await client.start(workflow))
    expect(await Promise.all(['kept', 'thrown', 'again'].map((text) => notesOf(`${name} ${text}`)))).toEqual([1, 0, 1])
    expect(bodies).toBe(2)
  })
})

test('STEP-05: a cursor or stream is refused before it is sent, since its end would not be heard of', async () => {
  const workflow = defineWorkflow({
    name: 'cursor',
    maxAttempts: 1,
    handler: (_, run) => run.transaction('read', (tx) => tx.query({ submit: () => undefined } as never)),
  })
  await startWorker(database, { workflows: [workflow] })
  const client = openClient(database)
  const error: unknown = await client.result(await client.start(workflow)).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ cause: { code: 'ARGUMENT' } })
})
