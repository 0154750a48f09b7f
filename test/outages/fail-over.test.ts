import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createWorker } from '../../src/index.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { startProxy } from '../support/proxy.ts'
import { variant } from '../support/variant.ts'
import { openClient, recordingLogger } from '../support/worker.ts'
import { ask, startPair, type Pair } from './standby.ts'
import { stays, works } from './working-workflows.ts'

let pair: Pair

beforeAll(async () => {
  pair = await startPair()
  await migrateDatabase(pair.primary.connectionString)
})

afterAll(async () => {
  await pair.remove()
})

test('OPS-03: a fail-over to a standby that is read-only for seconds loses nothing acknowledged, ends nobody and counts no attempt', async () => {
  const module = new URL('working-workflows.ts', import.meta.url)
  const proxy = await startProxy(pair.primary)
  const workers = [await forkWorker(proxy, { module, concurrency: 4 }), await forkWorker(proxy, { module })]
  const pool = new pg.Pool({ connectionString: proxy.connectionString, max: 4 })
  pool.on('error', () => undefined)
  const logger = recordingLogger()
  const borrower = createWorker({ pool, schema: variant.schema, workflows: [works], migrate: 'off', logger })
  await borrower.start()
  const client = openClient(proxy)
  const staying = await client.start(stays)
  await Promise.any(workers.map((worker) => worker.hear('entered', staying.id)))

  const acknowledged: string[] = []
  let isOver = false
  const starting = (async () => {
    while (!isOver) {
      const starts = await Promise.allSettled(Array.from({ length: 5 }, () => client.start(works)))
      for (const start of starts) if (start.status === 'fulfilled') acknowledged.push(start.value.id)
    }
  })()
  await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(100), 15_000)
  await pair.killPrimary()
  const before = acknowledged.length
  proxy.retarget(pair.standby)
  const [began] = (await ask(pair.standby, 'select clock_timestamp()::text as at')) as { at: string }[]
  await vi.waitFor(async () => {
    const seen = await ask(pair.standby, `select from pg_stat_activity where application_name like 'holdfast%'`)
    expect(seen.length).toBeGreaterThan(0)
    const text = `select clock_timestamp() - $1::timestamptz > interval '2.5 s' as is_long`
    expect(await ask(pair.standby, text, [began?.at])).toEqual([{ is_long: true }])
  }, 10_000)
  expect(acknowledged).toHaveLength(before)
  await pair.promote()

  await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(before + 100), 15_000)
  isOver = true
  await starting
  for (const worker of workers) worker.order('go')
  const attempts = await Promise.all([staying.id, ...acknowledged].map((id) => client.result<unknown>(id)))
  expect([attempts.length > 200, ...new Set(attempts)]).toEqual([true, 1])
  expect(workers.map((worker) => worker.isAlive)).toEqual([true, true])
  // A claim whose reply was lost is given back.
  expect(await ask(pair.standby, `select from holdfast.claims where outcome <> 'released'`)).toEqual([])
  // Nothing that a handler had answered was thrown away.
  const lines = [...logger.lines, ...workers.flatMap((worker) => worker.log)]
  expect(lines.filter(({ message }) => message.includes('could not be settled'))).toEqual([])
  await borrower.stop()
  await pool.end()
}, 60_000)
