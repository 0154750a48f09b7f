import pg from 'pg'
import { expect, test } from 'vitest'
import { ConfigError, createClient, createWorker, defineWorkflow, migrate } from '../../src/index.ts'
import { emptyDatabase, useDatabase, type Address } from '../support/database.ts'
import { variant } from '../support/variant.ts'
import { signal, startWorker } from '../support/worker.ts'
import { startTransactionPooler } from '../support/transaction-pooler.ts'

const database = useDatabase()
const { schema } = variant

async function processIds(address: Address, count: number): Promise<unknown[]> {
  const client = new pg.Client(address)
  await client.connect()
  const pids = []
  for (let query = 0; query < count; query += 1) {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    pids.push(rows[0]?.pid)
  }
  await client.end()
  return pids
}

test.for([1, 3])(
  'OPS-03: a client works through a pooler that lends %i sessions by the transaction, and leaves them as they were',
  async (size) => {
    const pooler = await startTransactionPooler(database, size)
    expect(new Set(await processIds(pooler, 6)).size).toBe(size)
    const begun = signal()
    const workflow = defineWorkflow({ name: `pooled ${size}`, handler: (_, run) => run.step('one', () => run.attempt) })
    const endless = defineWorkflow({
      name: `endless ${size}`,
      handler: () => {
        begun.give()
        return new Promise<void>(() => undefined)
      },
    })
    await startWorker(database, { workflows: [workflow, endless] })
    const clients = [1, 2].map(() => createClient({ connectionString: pooler.connectionString, schema }))
    try {
      const [client] = clients as [(typeof clients)[0], (typeof clients)[0]]
      const runs = (
        await Promise.all(
          clients.flatMap((each) =>
            Array.from({ length: 40 }, (_, key) => each.start(workflow, undefined, { key: String(key) })),
          ),
        )
      ).filter(({ created }) => created)
      expect(runs).toHaveLength(40)
      expect(await Promise.all(runs.map((run, index) => clients[index % 2]!.result(run)))).toEqual(runs.map(() => 1))
      expect((await client.list({ workflow: workflow.name })).items).toHaveLength(40)

      const tx = new pg.Client(pooler)
      await tx.connect()
      await tx.query('begin')
      const undone = await client.start(workflow, undefined, { tx })
      await tx.query('rollback')
      await tx.query('begin')
      const kept = await client.start(workflow, undefined, { tx })
      await tx.query('commit')
      await tx.end()
      expect(await client.result(kept)).toBe(1)
      expect(await client.get(undone)).toBeUndefined()

      const cancelled = await client.start(endless)
      await begun.promise
      expect(await client.cancel(cancelled)).toMatchObject({ state: 'cancelled' })
    } finally {
      await Promise.all(clients.map((each) => each.close()))
    }
    const [direct, session] = [new pg.Client(database.connectionString), new pg.Client(pooler)]
    await Promise.all([direct.connect(), session.connect()])
    const { rows: fresh } = await direct.query('show statement_timeout')
    await direct.end()
    for (let look = 0; look < size; look += 1) {
      const { rows } = await session.query('show statement_timeout')
      expect(rows).toEqual(fresh)
    }
    await session.end()
  },
)

test.for([1, 2, 3])(
  'OPS-07: a worker behind a pooler of %i sessions lent by the transaction is refused, and told what it needs',
  async (size) => {
    const pooler = await startTransactionPooler(database, size)
    const { connectionString } = pooler
    const workflow = defineWorkflow({ name: 'direct', handler: () => undefined })
    const pool = new pg.Pool({ connectionString })
    const workers = [
      createWorker({ connectionString, schema, workflows: [workflow] }),
      createWorker({ pool, schema, workflows: [workflow] }),
    ]
    for (const worker of workers) {
      const error = await worker.start().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ConfigError)
      expect(error).toMatchObject({
        field: 'connectionString',
        message: expect.stringMatching(/pooler/) as string,
        remedy: expect.stringMatching(/server itself, or of a pooler in session mode/) as string,
      })
      await worker.stop()
    }
    await pool.end()
    expect((await database.query('select from holdfast.workers where ended_at is null')).rowCount).toBe(0)
  },
)

test('OPS-07: a migration behind such a pooler is refused before it writes', async () => {
  const empty = await emptyDatabase()
  try {
    const pooler = await startTransactionPooler(empty, 2)
    await expect(migrate({ connectionString: pooler.connectionString })).rejects.toBeInstanceOf(ConfigError)
    await pooler.close()
    const { rows } = await empty.query(`select to_regnamespace('holdfast') as schema`)
    expect(rows).toEqual([{ schema: null }])
  } finally {
    await empty.drop()
  }
})
