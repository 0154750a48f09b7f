import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { createWorker, defineWorkflow, type Worker } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { useDatabase } from '../support/database.ts'
import { startProxy } from '../support/proxy.ts'
import { names } from '../support/variant.ts'
import { openClient, recordingLogger, signal } from '../support/worker.ts'

const database = useDatabase()
const toEnd: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const end of toEnd.splice(0)) await end()
})

/**
 * What a firewall does that forgets, or a server whose machine is gone: sockets stay open, and nothing comes. Of these
 * workers each waits for answers on all its sessions, since they work and listen.
 */
test.each(['its own pool', "a caller's pool"])(
  'OPS-03: a worker on %s whose connections fall silent goes on over new ones, and its runs with it',
  { timeout: 60_000 },
  async (whose) => {
    const [entered, go] = [signal(), signal()]
    const stays = defineWorkflow({
      name: `stays on ${whose.replace("'", '')}`,
      handler: async (_, run) => {
        await run.step('first', () => 1)
        entered.give()
        await go.promise
        return await run.step('second', () => run.attempt)
      },
    })
    const proxy = await startProxy(database)
    const { connectionString } = proxy
    const pool = new pg.Pool({ connectionString, max: 4 })
    const logger = recordingLogger()
    const from = whose === 'its own pool' ? { connectionString } : { pool }
    const { schema } = names
    const worker: Worker = createWorker({ ...from, schema, workflows: [stays], migrate: 'off', logger })
    toEnd.push(
      () => worker.stop({ grace: 0 }),
      () => pool.end(),
    )
    await worker.start()
    const client = openClient(database)
    const first = await client.start(stays)
    await entered.promise

    proxy.blackHole('existing')
    go.give()
    expect(await client.result(first)).toBe(1)
    expect(await client.result(await client.start(stays))).toBe(1)
    expect(await client.result(await client.start(stays, undefined, { delay: 100 }))).toBe(1)
    expect(logger.lines.map(({ message }) => message)).toContainEqual(expect.stringContaining('does not answer'))
    const { rows } = await database.query(`select outcome from holdfast.claims where run_id = $1`, [first.id])
    expect(rows).toEqual([])

    proxy.blackHole('all')
    await worker.stop({ grace: 0 })
  },
)

test("OPS-03: a session of a caller's pool that nobody listens to is heard from the moment it is handed out", async () => {
  const pool = new pg.Pool({ connectionString: database.connectionString })
  const heard: number[] = []
  const own = new Database({ pool, clock: systemClock })
  // Before whoever asked for it has had it: the words that end a session may stand in the packet that made it free.
  pool.on('acquire', (client) => queueMicrotask(() => heard.push(client.listenerCount('error'))))
  expect(pool.listenerCount('error')).toBe(1)
  for (let time = 0; time < 2; time += 1) {
    await own.withSession(async (client) => {
      expect(client.listenerCount('error')).toBe(1)
      await Promise.resolve()
    })
  }
  // However many use the pool, it is listened to once.
  await new Database({ pool, clock: systemClock }).withSession(() => Promise.resolve())
  expect(heard).toEqual([1, 1, 1])
  expect(pool.listenerCount('acquire')).toBe(2)
  await pool.end()
})
