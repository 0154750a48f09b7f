import { describe, expect, test } from 'vitest'
import { defineWorkflow, type Schedule, type Workflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import {
  endRuns,
  firedTimes,
  record,
  scheduledRuns,
  schedulerOf,
  useStoppedClock,
  type Looker,
} from '../support/schedules.ts'
import { recordingLogger } from '../support/worker.ts'

const database = useDatabase()
const clock = useStoppedClock(database, '2026-11-30T00:00:00Z')

let count = 0

/** A workflow of that schedule, first seen at `at`. */
async function begin(
  at: string,
  schedule: Schedule<undefined>,
  options: { maxWaiting?: number; deadline?: string } = {},
): Promise<
  Looker & { readonly name: string; readonly workflow: Workflow; readonly log: ReturnType<typeof recordingLogger> }
> {
  const name = `rules ${(count += 1)}`
  const workflow = defineWorkflow({ name, schedule, ...options, handler: () => 1 })
  await clock.set(at)
  await record(database, workflow)
  const log = recordingLogger()
  return { name, workflow, log, ...schedulerOf(database, [workflow], log) }
}

const shown = async (workflow: string): Promise<Record<string, unknown>> => {
  const { rows } = await database.query<{ shown: string }>('select holdfast.show_schedules($1) as shown', [workflow])
  return (JSON.parse(rows[0]?.shown ?? '[]') as [Record<string, unknown>])[0]
}

describe('what is made up for', () => {
  const each10 = { every: '10s', overlap: 'allow' } as const
  const cases: readonly [string, Schedule, string, string[]][] = [
    ['none, after 30 s', { ...each10, catchUp: 'none' }, '01:00:35', ['01:00:30']],
    ['one, after 30 s', { ...each10, catchUp: 'one' }, '01:00:35', ['01:00:30']],
    ['all, after 30 s', { ...each10, catchUp: 'all' }, '01:00:35', ['01:00:10', '01:00:20', '01:00:30']],
    ['none, after 61 s', { every: '1m', overlap: 'allow', catchUp: 'none' }, '01:01:11', []],
    ['one, after 61 s', { every: '1m', overlap: 'allow', catchUp: 'one' }, '01:01:11', ['01:01:00']],
    ['all, after 61 s', { every: '1m', overlap: 'allow', catchUp: 'all' }, '01:01:11', ['01:01:00']],
    ['none, late by 10 s', { every: '1m', catchUp: 'none' }, '01:01:10', ['01:01:00']],
    ['none, after 10 min', { cron: '*/4 * * * *', catchUp: 'none' }, '01:10:00', []],
    ['one, after 10 min', { cron: '*/4 * * * *' }, '01:10:00', ['01:08:00']],
    ['one, with one that is on time', { cron: '*/5 * * * *', overlap: 'allow' }, '01:10:03', ['01:10:00']],
    [
      'all, after 10 min',
      { cron: '*/4 * * * *', overlap: 'allow', catchUp: 'all' },
      '01:10:00',
      ['01:04:00', '01:08:00'],
    ],
    ['one, none having passed', { every: '1h' }, '01:10:00', []],
  ]

  test.each(cases)('WAIT-04, G10: %s', async (_, schedule, until, fired) => {
    const { name, look } = await begin('2026-11-30T01:00:00Z', schedule as Schedule<undefined>)
    await look()
    await clock.set(`2026-11-30T${until}Z`)
    await look()
    await look()
    expect(await firedTimes(database, name)).toEqual(fired)
  })

  test('WAIT-04: all are made up for in batches, each once and in order', async () => {
    const { name, look } = await begin('2026-11-30T02:00:00Z', { every: '1s', overlap: 'allow', catchUp: 'all' })
    await clock.set('2026-11-30T02:41:40Z')
    await look()
    const runs = await scheduledRuns(database, name)
    expect(runs).toHaveLength(2_500)
    expect(runs.map(({ due }) => due)).toEqual(runs.map((run) => run.for.slice(11, 19)))
  })

  test('WAIT-04: a process that comes back after a year computes no year of seconds', async () => {
    const { name, look } = await begin('2026-11-30T03:00:00Z', { cron: '* * * * * *', overlap: 'allow' })
    await clock.set('2027-11-30T03:00:00.500Z')
    await look()
    expect(await firedTimes(database, name)).toHaveLength(10)
  })

  test('a run that is made up for has its whole deadline', async () => {
    const { name, look } = await begin('2026-11-30T04:00:00Z', { every: '1h' }, { deadline: '1m' })
    await clock.set('2026-11-30T05:30:00Z')
    await look()
    const { rows } = await database.query(
      `select from holdfast.runs where workflow = $1 and deadline_at = '2026-11-30T05:31:00Z'`,
      [name],
    )
    expect(rows).toHaveLength(1)
  })
})

describe('what overlaps', () => {
  test('WAIT-04: skip passes over instants while the last run lives, and counts them', async () => {
    const { name, look, log } = await begin('2026-11-30T06:00:00Z', { every: '1m' })
    for (const at of ['06:01:00', '06:02:00', '06:03:00']) {
      await clock.set(`2026-11-30T${at}Z`)
      await look()
    }
    expect(await firedTimes(database, name)).toEqual(['06:01:00'])
    expect(await shown(name)).toMatchObject({ started: 1, skipped: 2, failed: 0 })
    expect(log.lines.filter(({ message }) => message.includes('skipped'))).toHaveLength(2)
    await endRuns(database, name)
    await clock.set('2026-11-30T06:04:00Z')
    await look()
    expect(await firedTimes(database, name)).toEqual(['06:01:00', '06:04:00'])
  })

  test('WAIT-04: queue keeps the latest instant, and starts its run once the last one has ended', async () => {
    const { name, look } = await begin('2026-11-30T07:00:00Z', { every: '1m', overlap: 'queue' })
    for (const at of ['07:01:00', '07:02:00', '07:03:00', '07:04:00']) {
      await clock.set(`2026-11-30T${at}Z`)
      await look()
    }
    expect(await firedTimes(database, name)).toEqual(['07:01:00'])
    expect(await shown(name)).toMatchObject({ started: 1, skipped: 2, queued: '2026-11-30T07:04:00+00:00' })
    await clock.set('2026-11-30T07:04:20Z')
    await endRuns(database, name)
    await look()
    expect(await firedTimes(database, name)).toEqual(['07:01:00', '07:04:00'])
    expect(await shown(name)).toMatchObject({ started: 2, queued: null })
    // What was queued goes before what comes now, and lives then.
    await clock.set('2026-11-30T07:05:00Z')
    await look()
    await endRuns(database, name)
    await clock.set('2026-11-30T07:06:00Z')
    await look()
    expect(await firedTimes(database, name)).toEqual(['07:01:00', '07:04:00', '07:05:00'])
    expect(await shown(name)).toMatchObject({ queued: '2026-11-30T07:06:00+00:00' })
  })

  test('WAIT-04: allow starts runs beside each other', async () => {
    const { name, look } = await begin('2026-11-30T08:00:00Z', { every: '1m', overlap: 'allow' })
    for (const at of ['08:01:00', '08:02:00', '08:03:00']) {
      await clock.set(`2026-11-30T${at}Z`)
      await look()
    }
    expect(await firedTimes(database, name)).toEqual(['08:01:00', '08:02:00', '08:03:00'])
  })
})

describe('what fails', () => {
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
})

describe('what an operator says', () => {
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
})
