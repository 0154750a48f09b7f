import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { createWorker, defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { variant } from '../support/variant.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

interface LeaseRow {
  readonly is_leased: boolean
  readonly is_old: boolean
  readonly token: number
}

test.for([2, 3, 4])(
  "LEASE-14: handlers that hold all %i sessions of the caller's pool for several leases lose none of them",
  async (size) => {
    const pool = new pg.Pool({ connectionString: database.connectionString, max: size })
    const go = signal()
    const transacts = defineWorkflow({
      name: `transacts ${size}`,
      lease: '1.5s',
      handler: (_, run) =>
        run.transaction('hold', async (tx) => {
          await tx.query('select 1')
          await go.promise
          return run.attempt
        }),
    })
    const connects = defineWorkflow({
      name: `connects ${size}`,
      lease: '1.5s',
      handler: async (_, run) => {
        const session = await pool.connect()
        await go.promise
        session.release()
        return run.attempt
      },
    })
    const workflows = [transacts, connects]
    const worker = createWorker({ pool, schema: variant.schema, workflows, migrate: 'off' })
    await worker.start()
    try {
      const client = openClient(database)
      const half = Math.floor(size / 2)
      const started = [
        ...(await Promise.all(Array.from({ length: half }, () => client.start(transacts)))),
        ...(await Promise.all(Array.from({ length: size - half }, () => client.start(connects)))),
      ]
      const ids = started.map((run) => run.id)
      const look = async (): Promise<LeaseRow[]> => {
        const { rows } = await database.query<LeaseRow>(
          `select token, lease_until > now() as is_leased, claimed_at < now() - interval '6 s' as is_old
           from holdfast.runs where id = any($1) and state = 'running'`,
          [ids],
        )
        return rows
      }
      await vi.waitFor(async () => expect(await look()).toHaveLength(size), 10_000)
      await vi.waitFor(() => expect([pool.idleCount, pool.totalCount]).toEqual([0, size]), 10_000)
      // Whoever takes over what is not renewed.
      const other = await startWorker(database, { workflows })
      let isHeld = true
      await vi.waitFor(async () => {
        const rows = await look()
        isHeld &&= rows.length === size && rows.every((row) => row.is_leased && row.token === 1)
        expect(rows.every((row) => row.is_old)).toBe(true)
      }, 15_000)
      expect([isHeld, pool.idleCount, pool.totalCount]).toEqual([true, 0, size])
      go.give()
      expect(await Promise.all(started.map((run) => client.result(run)))).toEqual(ids.map(() => 1))
      const claims = await database.query('select from holdfast.claims where run_id = any($1)', [ids])
      expect(claims.rowCount).toBe(0)
      await other.stop()
    } finally {
      go.give()
      await worker.stop({ grace: 0 })
      await pool.end()
    }
  },
)
