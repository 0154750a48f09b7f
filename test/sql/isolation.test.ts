import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { define } from '../support/limits.ts'
import { newWorker, startItem } from '../support/runs.ts'
import { record } from '../support/schedules.ts'
import { claimValues, keepValues, lineValues } from '../../src/db/claim-calls.ts'
import { settleValues } from '../../src/db/settle-calls.ts'

const database = useDatabase()

/** Every function that locks and then reads, with arguments that would do nothing. */
const deciding: readonly (readonly [string, ...unknown[]])[] = [
  ['claim_runs', ...claimValues(newWorker(), [], false)],
  ['claim_lines', ...lineValues(newWorker(), [])],
  ['keep_steps', ...keepValues([], false)],
  ['keep_progress', []],
  ['settle_runs', ...settleValues(newWorker(), [])],
  ['renew_leases', newWorker(), []],
  ['cancel_runs', '{}', null],
  ['cancel_asked', '{}'],
  ['delete_runs', '{}'],
  ['prune_runs', 1],
  ['extend_leases', '{}', '{}', '{}'],
  ['reserve_runs', newWorker(), '{}', 1, null],
  ['retry_runs', '{}', false],
  ['return_tickets', '{}', '{}', '{}'],
  ['promote_due', 1],
  ['end_leases', 1, 'now'],
  ['fail_overdue', 1],
  ['reissue_tickets', 1],
  ['mend_lines', 1],
  ['mend_signals', 1],
  ['open_waits', []],
  ['unpark_run', newWorker(), null, '1', null, null],
  ['see_definitions', []],
  ['set_limits', 'sample', {}, null],
  ['unset_limits', 'sample', null, null],
  ['pause_workflow', 'sample', null, null],
  ['resume_workflow', 'sample'],
  ['apply_definitions', []],
  ['fire_schedules', []],
  ['pause_schedule', 'sample', null, null],
  ['resume_schedule', 'sample'],
  ['bury_workers', newWorker(), null],
  ['read_metrics', newWorker()],
  ['trace_claims', '{}', '{}', '{}'],
]

test('the list of deciding functions is the one in the database', async () => {
  const { rows } = await database.query<{ proname: string }>(
    `select proname from pg_proc
     where pronamespace = 'holdfast'::regnamespace and prosrc like '%_require_read_committed()%'`,
  )
  expect(rows.map((row) => row.proname).toSorted()).toEqual(deciding.map(([name]) => name).toSorted())
})

test('counting under a lock at repeatable read lets in one too many, without an error', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  await a.query('create table room (id int primary key); create table guests (id int primary key)')
  await a.query('insert into room values (1)')
  const enter = async (session: typeof a, guest: number): Promise<void> => {
    await session.query('select from room where id = 1 for update')
    await session.query(`insert into guests select ${guest} where (select count(*) from guests) < 1`)
  }
  await a.query('begin isolation level repeatable read')
  await a.query('select 1 from guests')
  await b.query('begin isolation level repeatable read')
  await enter(b, 2)
  await b.query('commit')
  await enter(a, 1)
  await a.query('commit')
  expect(await a.query('select id from guests order by id')).toEqual([{ id: 1 }, { id: 2 }])
})

test.each(['repeatable read', 'serializable'])('functions that lock and then read refuse %s', async (level) => {
  const session = await connect(database)
  await define(session, 'sample', {})
  await record(
    database,
    defineWorkflow({ name: 'sample', schedule: { every: '1h', input: level as never }, handler: () => 1 }),
  )
  for (const [name, ...values] of deciding) {
    await session.query(`begin isolation level ${level}`)
    await expect(session.call(name, ...values)).rejects.toMatchObject({ code: 'WF001' })
    await session.query('rollback')
    await session.query('begin isolation level read committed')
    await expect(session.call(name, ...values)).resolves.toBeDefined()
    await session.query('rollback')
  }
})

test.each(['read committed', 'repeatable read', 'serializable'])('a start works at %s', async (level) => {
  const session = await connect(database)
  await session.query(`begin isolation level ${level}`)
  await expect(session.call('start_runs', [startItem({ key: level })])).resolves.toMatchObject([{ is_created: true }])
  await session.query('commit')
})
