import type pg from 'pg'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { define, startIn, takeTickets } from '../support/limits.ts'
import { claimValues, lineValues } from '../../src/db/claim-calls.ts'
import { settleValues } from '../../src/db/settle-calls.ts'
import { connect } from '../support/connections.ts'
import { newWorker, pgArray, waitingRuns } from '../support/runs.ts'
import { HandClient } from '../support/variant.ts'

const database = useDatabase()
const worker = newWorker()

/**
 * Runs that are named by their ids are looked up by their primary key. A condition on the state that is also that of a
 * partial index tempts the planner to read that index from end to end and pick them out, which no count of rows shows.
 */
test('LIMIT-04: no call on named runs reads an index of all that waits, runs or is due', async ({ skip }) => {
  const session = await connect(database)
  await define(session, 'limited', { concurrencyPerGroup: 1 })
  const groups = Array.from({ length: 400 }, (_, n) => `g${n % 20}`)
  const ids = await startIn(session, 'limited', ...groups)
  const loose = await waitingRuns(session, 200)
  const tickets = (await takeTickets(database, 'limited')).slice(0, 40)

  const plans: string[] = []
  const client = new HandClient(database.connectionString)
  await client.connect()
  client.on('notice', (notice) => void plans.push(notice.message ?? ''))
  const { rows } = await client.query(`select current_setting('is_superuser') as is_superuser`)
  if ((rows as { is_superuser: string }[])[0]?.is_superuser !== 'on') {
    await client.end()
    skip('only a superuser may load what shows the plans')
  }
  await client.query(
    `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
     set auto_explain.log_level = 'notice'`,
  )
  const call = async (fn: string, values: readonly unknown[]): Promise<pg.QueryResultRow[]> => {
    const places = values.map((_, index) => `$${index + 1}`).join(', ')
    return (await client.query<pg.QueryResultRow>(`select * from holdfast.${fn}(${places})`, [...values])).rows
  }
  const named = tickets.map((ticket) => ({ ...ticket, workflow: 'limited', lease_ms: 30_000 }))
  const items = loose.slice(0, 20).map((id) => ({ id, lease_ms: 30_000 }))
  const claimed = [
    ...(await call('claim_lines', lineValues(worker, named))),
    ...(await call('claim_runs', claimValues(worker, items, false))),
  ]
  expect(claimed.length).toBeGreaterThan(30)
  await call('claim_lines', lineValues(worker, named))
  const resting = claimed.slice(-5).map(({ id, token }) => ({ id: String(id), token: Number(token) }))
  const waits = resting.map((at) => ({ ...at, key: 'paid', kind: 'signal', name: 'paid', ordinal: 1, seq: 1 }))
  await call('open_waits', [JSON.stringify(waits)])
  const rest = resting.map((at) => ({ ...at, outcome: 'suspended', recalled: 0 }))
  await call('settle_runs', settleValues(worker, rest))
  const signals = resting.map(({ id }) => ({ id, run: id, name: 'paid', payload: '1' }))
  await call('send_signals', [JSON.stringify(signals)])
  await call(
    'claim_runs',
    claimValues(
      worker,
      rest.map(({ id }) => ({ id, lease_ms: 30_000 })),
      false,
    ),
  )
  const ended = claimed.slice(0, -5).map(({ id, token }) => ({
    id: String(id),
    token: Number(token),
    outcome: 'done',
    recalled: 0,
    lease_ms: 1_000,
  }))
  await call('settle_runs', settleValues(worker, ended.slice(5)))
  await call('cancel_runs', [pgArray([ids[300] ?? '', loose[100] ?? '']), null])
  await call('return_tickets', [
    pgArray(loose.slice(50, 60)),
    `{${Array.from({ length: 10 }, () => 'sample').join()}}`,
    null,
  ])
  await call('retry_runs', [pgArray([loose[100] ?? '']), false])
  await client.query(`update holdfast.runs set lease_until = '-infinity' where id = any($1)`, [
    ended.slice(0, 5).map(({ id }) => id),
  ])
  await call('end_leases', [100, new Date()])
  await client.query(`update holdfast.runs set due_at = due_at - interval '1 h' where state = 'waiting'`)
  await call('reissue_tickets', [100])
  await client.end()

  expect(plans.length).toBeGreaterThan(50)
  const whole = plans.filter((plan) => /using runs_(?!pkey)\w+ on [^\n]*\n\s*Index Cond: [^\n]*\(id = ANY/.test(plan))
  expect(whole.map((plan) => plan.slice(0, 600))).toEqual([])
})
