import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineWorkflow, WaitTimeoutError } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { becomes, endsOfClaims, letPass } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

/** Node's own timers overflow at 24.8 days, and then fire at once. */

const database = useDatabase()
const days = [24.8, 24.9, 30, 400]
const dayMs = 86_400_000

const warnings: Error[] = []
const warn = (warning: Error): void => void warnings.push(warning)

beforeEach(() => {
  warnings.length = 0
  process.on('warning', warn)
})
afterEach(() => void process.off('warning', warn))

test('WAIT-01: sleeps and time-outs of 24.8 to 400 days are not due before, and wake when they are', async () => {
  const client = openClient(database)
  const sleeps = defineWorkflow({ name: 'sleeps for days', handler: (_, run) => run.sleep('long', '24.8d') })
  const rests = days.map((count) =>
    defineWorkflow({
      name: `rests ${count} days`,
      handler: async (_, run) => {
        const late = run.waitFor('never', { timeout: count * dayMs }).catch((error: unknown) => error)
        await run.sleep('long', count * dayMs)
        return (await late) instanceof WaitTimeoutError
      },
    }),
  )
  await startWorker(database, { workflows: [sleeps, ...rests] })
  const runs = await Promise.all(rests.map((workflow) => client.start(workflow)))
  await Promise.all(runs.map((run) => becomes(client, run, 'suspended')))
  // Some look at what is due meanwhile.
  expect(await client.get(await client.start(sleeps))).toBeDefined()
  const { rows } = await database.query<{ days: number }>(
    `select (extract(epoch from r.due_at - r.created_at) / 86400)::float as days from holdfast.runs r
     where r.id = any($1) order by 1`,
    [runs.map(({ id }) => id)],
  )
  expect(rows.map((row) => Math.round(row.days * 100) / 100)).toEqual(days)
  for (const { id } of runs) expect(await endsOfClaims(database, id)).toEqual(['suspended'])
  for (const { id } of runs) await letPass(database, id, '400 days 1 second')
  expect(await Promise.all(runs.map((run) => client.result(run)))).toEqual(days.map(() => true))
  expect(warnings).toEqual([])
})

test('WAIT-01: a claim that is busy beside them does not take them for due either', async () => {
  const client = openClient(database)
  const enough = signal()
  const seen: string[] = []
  const busy = defineWorkflow({
    name: 'busy beside long waits',
    handler: async (_, run) => {
      for (const count of days) {
        void run.sleep(`${count} days`, count * dayMs).then(() => seen.push(`${count}`))
        run.waitFor('never', { timeout: count * dayMs }).catch(() => seen.push(`timeout ${count}`))
      }
      await run.sleep('short', 30)
      await run.step('work', () => enough.promise)
      return seen
    },
  })
  await startWorker(database, { workflows: [busy] })
  const started = await client.start(busy)
  const memos = async (): Promise<unknown> =>
    (await database.query('select key from holdfast.steps where run_id = $1', [started.id])).rows
  // It was woken by the short one, which was opened after them.
  await expect.poll(memos).toEqual([{ key: 'short' }])
  enough.give()
  expect(await client.result(started)).toEqual([])
  expect(warnings).toEqual([])
})
