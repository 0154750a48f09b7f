import { expect, test } from 'vitest'
import { dueSchedules, fireSchedules, type Firing } from '../../src/db/schedule-calls.ts'
import { makeScheduled } from '../../src/define/make-scheduled.ts'
import { defineWorkflow, type Schedule, type Workflow } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { firedTimes, openDatabase, record, scheduledRuns, schedulerOf, useStoppedClock } from '../support/schedules.ts'
import { recordingLogger } from '../support/worker.ts'

const database = useDatabase()
const clock = useStoppedClock(database, '2026-11-30T00:00:00Z')

const define = (name: string, schedule: Schedule<undefined>): Workflow =>
  defineWorkflow({ name, schedule, handler: () => 1 })

/** What a scheduler that looks now would decide. */
async function firingFor(workflow: Workflow, at: string): Promise<Firing> {
  const [standing] = await dueSchedules(openDatabase(database), [workflow.name])
  const item = await makeScheduled(workflow, workflow.definition.schedule!, Date.parse(at), 0, systemClock)
  const next_at = new Date(Date.parse(at) + 60_000).toISOString()
  return {
    workflow: workflow.name,
    turn: standing!.turn,
    past_at: at,
    next_at,
    starts: [{ at, item }],
    error: undefined,
  }
}

test('WAIT-04: of two schedulers that decide about one instant at once, the one that waits starts nothing', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  await clock.set('2026-11-30T01:00:00Z')
  const workflow = define('two at once', { every: '1m', overlap: 'allow' })
  await record(database, workflow)
  await clock.set('2026-11-30T01:01:00Z')
  const at = '2026-11-30T01:01:00.000Z'
  const [first, second] = [await firingFor(workflow, at), await firingFor(workflow, at)]
  await a.query('begin')
  expect(await a.call('fire_schedules', [first])).toMatchObject([{ outcome: 'started' }])
  const waiting = await b.block(b.call('fire_schedules', [second]))
  await a.query('commit')
  expect(await waiting.done).toEqual([])
  expect(await scheduledRuns(database, workflow.name)).toMatchObject([{ id: first.starts[0]?.item.id, for: at }])
})

test('WAIT-04: if the first of two is rolled back, the one that waited starts the run', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  await clock.set('2026-11-30T02:00:00Z')
  const workflow = define('one undone', { every: '1m' })
  await record(database, workflow)
  await clock.set('2026-11-30T02:01:00Z')
  const at = '2026-11-30T02:01:00.000Z'
  const [first, second] = [await firingFor(workflow, at), await firingFor(workflow, at)]
  await a.query('begin')
  await a.call('fire_schedules', [first])
  const waiting = await b.block(b.call('fire_schedules', [second]))
  await a.query('rollback')
  expect(await waiting.done).toMatchObject([{ outcome: 'started', run_id: second.starts[0]?.item.id }])
  expect(await scheduledRuns(database, workflow.name)).toHaveLength(1)
})

test('WAIT-04: what was decided on a schedule that has changed since changes nothing', async () => {
  await clock.set('2026-11-30T03:00:00Z')
  const [older, newer] = [define('changed', { every: '1m' }), define('changed', { every: '1h' })]
  await record(database, older)
  await clock.set('2026-11-30T03:01:00Z')
  const firing = await firingFor(older, '2026-11-30T03:01:00.000Z')
  await record(database, newer)
  expect(await fireSchedules(openDatabase(database), [firing])).toEqual([])
  expect(await scheduledRuns(database, 'changed')).toEqual([])
})

test('WAIT-04: an instant that is decided a second time has the run of the first', async () => {
  await clock.set('2026-11-30T04:00:00Z')
  const workflow = define('decided again', { every: '1m', overlap: 'allow' })
  await record(database, workflow)
  await clock.set('2026-11-30T04:01:00Z')
  const at = '2026-11-30T04:01:00.000Z'
  await fireSchedules(openDatabase(database), [await firingFor(workflow, at)])
  await database.query(`update holdfast.schedules set past_at = '2026-11-30T04:00:00Z', next_at = null
    where workflow = 'decided again'`)
  expect(await fireSchedules(openDatabase(database), [await firingFor(workflow, at)])).toMatchObject([
    { outcome: 'known' },
  ])
  expect(await scheduledRuns(database, workflow.name)).toHaveLength(1)
})

test('WAIT-04, G13: five schedulers over a thousand ticks start a thousand runs, and say so of each once', async () => {
  const ticks = 1_000
  await clock.set('2026-11-30T05:00:00Z')
  const workflow = define('ticks', { every: '1s', overlap: 'allow' })
  await record(database, workflow)
  const log = recordingLogger()
  const schedulers = Array.from({ length: 5 }, () => schedulerOf(database, [workflow], log))
  for (let tick = 0; tick < ticks; tick += 1) {
    await clock.advance(1_000)
    await Promise.all(schedulers.map((scheduler) => scheduler.look()))
  }
  const runs = await scheduledRuns(database, workflow.name)
  const first = Date.parse('2026-11-30T05:00:01Z')
  const instants = Array.from({ length: ticks }, (_, tick) => new Date(first + tick * 1_000).toISOString())
  expect(runs.map((run) => run.for)).toEqual(instants)
  const told = log.lines.filter(({ message }) => message === 'A scheduled run was started.')
  expect(told.map(({ fields }) => String(fields['scheduledFor'])).toSorted()).toEqual(instants)
  expect(told.map(({ fields }) => String(fields['runId'])).toSorted()).toEqual(runs.map(({ id }) => id).toSorted())
  expect(log.lines.filter(({ level }) => level !== 'info')).toEqual([])
}, 120_000)

test('WAIT-04: a workflow fires for no instant before it was first seen, nor before its times were changed', async () => {
  await clock.set('2026-11-30T12:00:30Z')
  const minutes = define('first seen', { every: '1m', catchUp: 'all', overlap: 'allow' })
  const scheduler = schedulerOf(database, [minutes])
  await record(database, minutes)
  await scheduler.look()
  expect(await scheduledRuns(database, 'first seen')).toEqual([])
  await clock.set('2026-11-30T12:02:30Z')
  await record(database, define('first seen', { every: '30s', catchUp: 'all', overlap: 'allow' }))
  await scheduler.look()
  expect(await firedTimes(database, 'first seen')).toEqual([])
  await clock.set('2026-11-30T12:03:00Z')
  await scheduler.look()
  expect(await firedTimes(database, 'first seen')).toEqual(['12:03:00'])
})

test('WAIT-04: the schedule of the newest first-seen definition is in force, and an older one does not set it back', async () => {
  await clock.set('2026-11-30T13:00:00Z')
  const [older, newer] = [define('flaps', { every: '1m' }), define('flaps', { every: '1h', input: undefined })]
  const log = recordingLogger()
  await record(database, older)
  await clock.advance(1_000)
  await record(database, newer)
  await clock.set('2026-11-30T13:59:59Z')
  await record(database, older)
  const scheduler = schedulerOf(database, [older], log)
  await scheduler.look()
  expect(await firedTimes(database, 'flaps')).toEqual([])
  await clock.set('2026-11-30T14:00:00Z')
  await scheduler.look()
  await scheduler.look()
  expect(await firedTimes(database, 'flaps')).toEqual(['14:00:00'])
  expect(log.lines.filter(({ message }) => message.startsWith('A newer definition'))).toMatchObject([
    { level: 'warn', fields: { workflow: 'flaps' } },
  ])

  // A newer definition without one ends it, whoever had one before.
  await record(database, defineWorkflow({ name: 'flaps', handler: () => 1 }))
  await clock.set('2026-11-30T15:00:00Z')
  await record(database, newer)
  await scheduler.look()
  expect(await firedTimes(database, 'flaps')).toEqual(['14:00:00'])
})

test('WAIT-04: a definition with the same times and another input loses no instant', async () => {
  await clock.set('2026-11-30T16:00:00Z')
  const withInput = (input: string): Workflow =>
    defineWorkflow({ name: 'other input', schedule: { every: '1h', input: input as never }, handler: () => 1 })
  await record(database, withInput('old'))
  await clock.set('2026-11-30T17:00:02Z')
  await record(database, withInput('new'))
  await schedulerOf(database, [withInput('old')]).look()
  expect(await scheduledRuns(database, 'other input')).toMatchObject([
    { for: '2026-11-30T17:00:00.000Z', input: 'new' },
  ])
})
