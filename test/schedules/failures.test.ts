import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { endRuns, firedTimes, schedulerOf, scheduling, useStoppedClock } from '../support/schedules.ts'
import { recordingLogger } from '../support/worker.ts'

const database = useDatabase()
const clock = useStoppedClock(database, '2026-11-30T00:00:00Z')
const { begin, shown } = scheduling(database, clock)

test('WAIT-04, B6: an instant whose start finds the queue full is tried again until it starts', async () => {
  const { name, look, log } = await begin('2026-11-30T09:00:00Z', { every: '1h' }, { maxWaiting: 1 })
  const session = await connect(database)
  const item = { id: crypto.randomUUID(), workflow: name, priority: 0, max_attempts: 1, input: 'null', dedupe_ms: 0 }
  await session.call('start_runs', [item])
  await clock.set('2026-11-30T10:00:00Z')
  await look()
  expect(await shown(name)).toMatchObject({
    started: 0,
    failed: 1,
    next: '2026-11-30T10:00:00+00:00',
    failure: { isTriedAgain: true, error: 'As many runs of the workflow wait as its maxWaiting allows.' },
  })
  expect(log.lines).toMatchObject([
    { level: 'warn', fields: { workflow: name, scheduledFor: '2026-11-30T10:00:00.000Z' } },
  ])
  await look()
  expect(await shown(name)).toMatchObject({ failed: 1 })
  // Soon, and then less often, but never so seldom that the next instant would be missed.
  for (const [at, failed] of [
    ['10:00:01', 2],
    ['10:00:02', 2],
    ['10:00:03', 3],
    ['10:20:00', 4],
    ['10:20:03', 4],
    ['10:20:04', 5],
  ] as const) {
    await clock.set(`2026-11-30T${at}Z`)
    await look()
    expect({ at, ...(await shown(name)) }).toMatchObject({ at, failed })
  }
  await session.query('delete from holdfast.runs where id = $1', [item.id])
  await clock.set('2026-11-30T10:20:30Z')
  await look()
  expect(await firedTimes(database, name)).toEqual(['10:00:00'])
  expect(await shown(name)).toMatchObject({ started: 1, failure: { isTriedAgain: false } })
})

test('WAIT-04: of several that are wanted, those that fit start and the rest stay in order', async () => {
  const schedule = { every: '1m', overlap: 'allow', catchUp: 'all' } as const
  const { name, look } = await begin('2026-11-30T11:00:00Z', schedule, { maxWaiting: 2 })
  await clock.set('2026-11-30T11:05:00Z')
  await look()
  expect(await firedTimes(database, name)).toEqual(['11:01:00', '11:02:00'])
  await endRuns(database, name)
  await clock.set('2026-11-30T11:05:10Z')
  await look()
  expect(await firedTimes(database, name)).toEqual(['11:01:00', '11:02:00', '11:03:00', '11:04:00'])
})

test('WAIT-04, B6: an input that the schema here refuses loses nothing either', async () => {
  const { name, look } = await begin('2026-11-30T12:00:00Z', { every: '1h' })
  const refusing = defineWorkflow({
    name,
    schedule: { every: '1h' },
    group: () => {
      throw new RangeError('no group today')
    },
    handler: () => 1,
  })
  await clock.set('2026-11-30T13:00:00Z')
  await schedulerOf(database, [refusing]).look()
  expect(await shown(name)).toMatchObject({ failed: 1, failure: { error: 'no group today' } })
  await clock.set('2026-11-30T13:00:30Z')
  await look()
  expect(await firedTimes(database, name)).toEqual(['13:00:00'])
})

test('WAIT-04: a queued instant whose start fails stays queued', async () => {
  const { name, look } = await begin('2026-11-30T14:00:00Z', { every: '1m', overlap: 'queue' }, { maxWaiting: 1 })
  for (const at of ['14:01:00', '14:02:00']) {
    await clock.set(`2026-11-30T${at}Z`)
    await look()
  }
  const session = await connect(database)
  await endRuns(database, name)
  const item = { id: crypto.randomUUID(), workflow: name, priority: 0, max_attempts: 1, input: 'null', dedupe_ms: 0 }
  await session.call('start_runs', [item])
  await look()
  expect(await shown(name)).toMatchObject({ failed: 1, queued: '2026-11-30T14:02:00+00:00' })
  await session.query('delete from holdfast.runs where id = $1', [item.id])
  await clock.set('2026-11-30T14:02:30Z')
  await look()
  expect(await firedTimes(database, name)).toEqual(['14:01:00', '14:02:00'])
})

test('WAIT-04: a schedule that nobody here can read holds up no other', async () => {
  const strange = await begin('2026-11-30T18:00:00Z', { cron: '* * * * *' })
  const { workflow, name } = await begin('2026-11-30T18:00:00Z', { every: '1m' })
  await database.query(
    `update holdfast.schedules set spec = (spec::jsonb || '{"cron": "of a later release"}')::json where workflow = $1`,
    [strange.name],
  )
  const log = recordingLogger()
  await clock.set('2026-11-30T18:01:00Z')
  await schedulerOf(database, [strange.workflow, workflow], log).look()
  expect(await firedTimes(database, name)).toEqual(['18:01:00'])
  expect(log.lines.filter(({ message }) => message.includes('could not be decided'))).toMatchObject([
    { level: 'warn', fields: { workflow: strange.name } },
  ])
})

test('WAIT-04: a database whose clock is set back fires nothing twice, and goes on', async () => {
  const { name, look } = await begin('2026-11-30T19:00:00Z', { every: '1m', overlap: 'allow', catchUp: 'all' })
  for (const at of ['19:02:00', '19:00:30', '19:01:00', '19:02:00', '19:03:00']) {
    await clock.set(`2026-11-30T${at}Z`)
    await look()
  }
  expect(await firedTimes(database, name)).toEqual(['19:01:00', '19:02:00', '19:03:00'])
})
