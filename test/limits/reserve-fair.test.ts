import { expect, test } from 'vitest'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { define, startIn, takeTickets } from '../support/limits.ts'
import { newWorker } from '../support/runs.ts'

const database = useDatabase()

test('LIMIT-03: what a claim by hand leaves in a fair line keeps its ticket', async () => {
  const session = await connect(database)
  await define(session, 'fair', { concurrency: 9, isFair: true })
  const ids = await startIn(session, 'fair', 'a', 'a', 'a', 'b')
  const taken = await session.call<{ id: string }>('reserve_runs', newWorker(), '{fair}', 2, null)
  const tickets = await takeTickets(database, 'fair')
  const left = ids.filter((id) => !taken.some((run) => run.id === id))
  expect(taken).toHaveLength(2)
  expect(tickets.map(({ run }) => run)).toEqual(expect.arrayContaining(left))
})
