import { afterEach, expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { brokenInvariants, define, startIn, takeTickets } from '../support/limits.ts'
import { claimFor, newWorker, pgArray, settle } from '../support/runs.ts'

const database = useDatabase()
const worker = newWorker()

afterEach(async () => {
  expect(await brokenInvariants(database)).toEqual({})
})

/** Runs that are running, of a workflow that may run so many. */
async function running(session: Connection, workflow: string, count: number): Promise<string[]> {
  await define(session, workflow, { concurrency: 9 })
  const ids = await startIn(session, workflow, ...Array.from({ length: count }, () => undefined))
  await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  return ids
}

const done = (session: Connection, ...ids: readonly string[]): Promise<unknown> =>
  settle(
    session,
    worker,
    ids.map((id) => ({ id, token: 1, outcome: 'done' })),
  )

test('a promotion that carried out cancels waits for no line that its rate opens', async () => {
  const [a, b, c] = [await connect(database), await connect(database), await connect(database)]
  const rate = { limit: 1, perMs: 60_000 }
  await define(a, 'first', { rate })
  const [rated = ''] = await startIn(a, 'first', undefined, undefined)
  await claimFor(a, worker, await takeTickets(database, 'first'), 'first')
  const [held = '', cancelled = ''] = await running(a, 'second', 2)
  const [last = '', cancelledToo = ''] = await running(a, 'third', 2)
  await a.query(`update holdfast.lines set open_at = now() where workflow = 'first'`)
  await a.call('ask_cancels', pgArray([cancelled, cancelledToo]), null)

  // Its promotion has the second line and waits for the third, while a settle has the first and waits for the second.
  await c.query('begin')
  await done(c, last)
  const promoting = await a.block(a.call('promote_due', 100))
  const settling = await b.block(done(b, rated, held))
  await c.query('commit')

  await Promise.all([promoting.done, settling.done])
  const states = await a.query<{ state: string }>('select state from holdfast.runs where id = any($1) order by state', [
    [held, cancelled, last, cancelledToo, rated],
  ])
  expect(states.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'done', 'done', 'done'])
})
