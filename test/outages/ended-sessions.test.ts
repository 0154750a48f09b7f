import { expect, test, vi } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { isPointless } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { watch } from './sessions.ts'
import { works } from './working-workflows.ts'

const database = useDatabase()
const module = new URL('working-workflows.ts', import.meta.url)

test('OPS-03: all sessions ended a hundred times while runs work ends no process, fails no call and counts no attempt', async () => {
  const watcher = await watch(database)
  const workers = [await forkWorker(database, { module }), await forkWorker(database, { module })]
  const client = openClient(database)
  const runs: { readonly id: string }[] = []
  for (let round = 0; round < 50; round += 1) {
    const cut = watcher.endSessions()
    const started = await Promise.all(Array.from({ length: 3 }, () => client.start(works)))
    runs.push(...started)
    await cut
    const [run] = started
    // The next cut comes while this round's runs are in their steps.
    await Promise.race([client.result(run!), ...workers.map((worker) => worker.hear('entered', run!.id))])
    const atOnce = watcher.endSessions()
    expect(await client.get(run!)).toMatchObject({ id: run!.id })
    expect((await client.list({ limit: 1 })).items).toHaveLength(1)
    await client.cancel(await client.start(works, undefined, { delay: '1h' }))
    await atOnce
  }
  expect(new Set(await Promise.all(runs.map((run) => client.result(run))))).toEqual(new Set([1]))
  expect(workers.map((worker) => worker.isAlive)).toEqual([true, true])
  const rows = await watcher.query(`select distinct outcome from holdfast.claims where outcome <> 'cancelled'`)
  expect(rows).toEqual([])
}, 90_000)

const isDeaf = isPointless('no-notify', 'without NOTIFY it hears of nothing, and polls')

test.skipIf(isDeaf)(
  'OPS-03: whichever sessions of a worker are ended, it hears of the next runs at once',
  async () => {
    const watcher = await watch(database)
    const quick = defineWorkflow({ name: 'quick', handler: () => undefined })
    await startWorker(database, { workflows: [quick] })
    const client = openClient(database)
    const listens = `application_name = 'holdfast listen' or query ilike 'listen %'`
    for (let round = 0; round < 6; round += 1) {
      const ended = await watcher.endSessions(round % 2 === 0 ? listens : `not (${listens})`)
      expect(ended.length).toBeGreaterThan(0)
      // Both are back: ours and the queue's.
      await vi.waitFor(async () => {
        const back = await watcher.query(
          `select from pg_stat_activity where datname = current_database() and (${listens})`,
        )
        expect(back).toHaveLength(2)
      }, 15_000)
      const delays: number[] = []
      for (let start = 0; start < 5; start += 1) {
        const { id } = await client.start(quick)
        await client.result(id)
        const [row] = await watcher.query<{ ms: number }>(
          'select (extract(epoch from claimed_at - created_at) * 1000)::float8 as ms from holdfast.runs where id = $1',
          [id],
        )
        delays.push(row?.ms ?? Infinity)
      }
      // Without a word it would take each but the first at the next poll, a second after the one before.
      expect(Math.min(...delays.slice(1))).toBeLessThan(500)
    }
  },
  60_000,
)
