import pg from 'pg'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  createClient,
  defineWorkflow,
  InvalidInputError,
  KeyReusedError,
  type Client,
  type Queryable,
} from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const echo = defineWorkflow({ name: 'echo', input: z.number(), handler: (n) => n })

/** A client that could not reach a database if it tried: whatever it does, it does on the connection it is given. */
function detachedClient(): Client {
  return createClient({ ...optionsFor({ connectionString: 'postgres://nobody@127.0.0.1:1/nowhere' }), migrate: 'off' })
}

const isolations = ['read committed', 'repeatable read', 'serializable']

/** The two ways in which pg gives a connection. */
const connections: Record<string, () => Promise<{ tx: pg.ClientBase; end: () => Promise<void> | void }>> = {
  'a client': async () => {
    const tx = new pg.Client({ connectionString: database.connectionString })
    await tx.connect()
    return { tx, end: () => tx.end() }
  },
  'a client of a pool': async () => {
    const tx = await database.pool.connect()
    return { tx, end: () => tx.release(true) }
  },
}

/** Everything that a start writes for the run. */
async function tracesOf(id: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select (select count(*) from holdfast.runs where id = $1)::integer
       + (select count(*) from holdfast.keys where run_id = $1)::integer
       + (select count(*) from holdfast_queue._private_jobs where payload ->> 'run' = $1::text)::integer as count`,
    [id],
  )
  return rows[0]?.count ?? NaN
}

/** Who is connected to the database. */
async function sessions(): Promise<number[]> {
  const { rows } = await database.query<{ pid: number }>(
    'select pid from pg_stat_activity where datname = current_database()',
  )
  return rows.map(({ pid }) => pid)
}

const ways = Object.keys(connections).flatMap((kind) => isolations.map((isolation) => ({ kind, isolation })))

test.each(ways)(
  'RUN-08: a start in a transaction is there if that commits, not before, and not if it does not: $kind, $isolation',
  async ({ kind, isolation }) => {
    const client = detachedClient()
    const { tx, end } = await (connections[kind] as (typeof connections)[string])()
    try {
      const ids: string[] = []
      for (const ending of ['rollback', 'commit']) {
        await tx.query(`begin isolation level ${isolation}`)
        const { id, created } = await client.start(echo, 1, { key: `${kind}, ${isolation}`, tx })
        expect(created).toBe(true)
        expect(await tracesOf(id)).toBe(0)
        await tx.query(ending)
        ids.push(id)
      }
      const [rolledBack, committed] = ids as [string, string]
      expect(await tracesOf(rolledBack)).toBe(0)
      // The run, its key and its ticket.
      expect(await tracesOf(committed)).toBe(3)
    } finally {
      await end()
    }
  },
)

test('RUN-08, P1: a run is not seen before its transaction commits, however long that takes, and runs then', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [echo] })
  const tx = await database.pool.connect()
  try {
    await tx.query('begin')
    const hidden = await client.start(echo, 1, { key: 'hidden', tx })
    for (let n = 2; n < 5; n += 1) expect(await client.result(await client.start(echo, n))).toBe(n)
    expect(await client.get(hidden)).toBeUndefined()
    expect(await client.get({ workflow: echo, key: 'hidden' })).toBeUndefined()
    expect((await client.list()).items.map(({ id }) => id)).not.toContain(hidden.id)
    await tx.query('commit')
    expect(await client.result(hidden)).toBe(1)
  } finally {
    tx.release(true)
  }
})

test('RUN-08: a start goes with the savepoint it was made in', async () => {
  const client = detachedClient()
  const tx = await database.pool.connect()
  try {
    await tx.query('begin')
    const outer = await client.start(echo, 1, { tx })
    await tx.query('savepoint part')
    const inner = await client.start(echo, 2, { tx })
    await tx.query('rollback to savepoint part')
    const after = await client.start(echo, 3, { tx })
    await tx.query('commit')
    expect(await Promise.all([outer, inner, after].map(({ id }) => tracesOf(id)))).toEqual([2, 0, 2])
  } finally {
    tx.release(true)
  }
})

test('RUN-08: a start in a transaction is one query on its connection, be it refused by the database or not', async () => {
  const client = openClient(database)
  const tx = await database.pool.connect()
  const queries: string[] = []
  const counting: Queryable = {
    query: (text, values) => {
      queries.push(text)
      return tx.query(text, values)
    },
  }
  try {
    await tx.query('begin isolation level repeatable read')
    const before = await sessions()
    await client.start(echo, 1, { tx: counting })
    expect(queries).toHaveLength(1)
    expect((await sessions()).filter((pid) => !before.includes(pid))).toEqual([])

    // The snapshot is older than the key's row: only the caller can begin anew.
    await client.start(echo, 1, { key: 'taken meanwhile' })
    const refused = client.start(echo, 1, { key: 'taken meanwhile', tx: counting })
    await expect(refused).rejects.toMatchObject({ code: '40001' })
    expect(queries).toHaveLength(2)
    await expect(client.start(echo, 1, { tx: counting })).rejects.toMatchObject({ code: '25P02' })
    expect(queries).toHaveLength(3)
  } finally {
    tx.release(true)
  }
})

test('RUN-08: a start that is refused leaves its transaction as it was', async () => {
  const client = detachedClient()
  const tx = await database.pool.connect()
  try {
    await tx.query('begin')
    const first = await client.start(echo, 1, { key: 'in one', tx })
    await expect(client.start(echo, 2, { key: 'in one', tx })).rejects.toThrow(KeyReusedError)
    await expect(client.start(echo, 'two' as never, { tx })).rejects.toThrow(InvalidInputError)
    expect(await client.start(echo, 1, { key: 'in one', tx })).toEqual({ ...first, created: false })
    await tx.query('commit')
    expect(await tracesOf(first.id)).toBe(3)
  } finally {
    tx.release(true)
  }
})
