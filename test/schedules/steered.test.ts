import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { firedTimes, record, scheduledRuns, scheduling, useStoppedClock } from '../support/schedules.ts'

const database = useDatabase()
const clock = useStoppedClock(database, '2026-11-30T00:00:00Z')
const { begin, shown } = scheduling(database, clock)

test('WAIT-04: a paused schedule starts nothing, and what passed meanwhile is not made up for', async () => {
  const session = await connect(database)
  const { name, look } = await begin('2026-11-30T15:00:00Z', { every: '1m', overlap: 'allow', catchUp: 'all' })
  await session.call('pause_schedule', name, 'ada', 'the bank is closed')
  await clock.set('2026-11-30T15:05:00Z')
  await look()
  await session.call('pause_schedule', name, 'bob', null)
  expect(await shown(name)).toMatchObject({
    next: null,
    paused: { since: '2026-11-30T15:00:00+00:00', by: 'bob', reason: null },
  })
  expect(await session.call('resume_schedule', name)).toEqual([{ resume_schedule: true }])
  expect(await session.call('resume_schedule', name)).toEqual([{ resume_schedule: false }])
  await look()
  expect(await firedTimes(database, name)).toEqual([])
  await clock.set('2026-11-30T15:06:00Z')
  await look()
  expect(await firedTimes(database, name)).toEqual(['15:06:00'])
})

test('WAIT-04: a schedule that is paused while a firing waits for it fires nothing', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const { name, look } = await begin('2026-11-30T16:00:00Z', { every: '1m' })
  await clock.set('2026-11-30T16:01:00Z')
  await a.query('begin')
  await a.call('pause_schedule', name, 'ada', null)
  const firing = {
    workflow: name,
    turn: 0,
    past_at: '2026-11-30T16:01:00Z',
    next_at: '2026-11-30T16:02:00Z',
    starts: [],
  }
  const waiting = await b.block(b.call('fire_schedules', [firing]))
  await a.query('commit')
  expect(await waiting.done).toEqual([])
  await look()
  expect(await scheduledRuns(database, name)).toEqual([])
})

test('WAIT-04: a trigger starts a run with the schedule’s input, paused or not, and moves no instant', async () => {
  const session = await connect(database)
  const input = { since: new Date('2026-01-01T00:00:00Z'), text: 'a\u0000b' }
  const { name, look } = await begin('2026-11-30T17:00:00Z', { every: '1m', input: input as never })
  await session.call('pause_schedule', name, 'ada', null)
  const id = crypto.randomUUID()
  expect(await session.call('trigger_schedule', name, id, null, 'ada')).toEqual([
    { id, created: true, state: 'waiting' },
  ])
  expect(await session.call('trigger_schedule', name, id, null, 'ada')).toMatchObject([{ id, created: false }])
  expect(await scheduledRuns(database, name)).toMatchObject([
    { id, for: '2026-11-30T17:00:00.000Z', key: `trigger ${id}`, input: { text: 'a\u0000b' } },
  ])
  await session.call('resume_schedule', name)
  await clock.set('2026-11-30T17:01:00Z')
  await look()
  const { rows } = await database.query(
    'select distinct input::text, input_types from holdfast.runs where workflow = $1',
    [name],
  )
  expect(rows).toHaveLength(1)
})

test('a workflow without a schedule, and one that nobody knows, are refused', async () => {
  const session = await connect(database)
  await record(database, defineWorkflow({ name: 'bare', handler: () => 1 }))
  for (const call of [
    ['pause_schedule', null, null],
    ['resume_schedule'],
    ['trigger_schedule', crypto.randomUUID(), null, null],
  ] as const) {
    const [fn, ...rest] = call
    await expect(session.call(fn, 'bare', ...rest)).rejects.toMatchObject({ code: 'WF008' })
    await expect(session.call(fn, 'nobody', ...rest)).rejects.toMatchObject({ code: 'WF002' })
  }
})
