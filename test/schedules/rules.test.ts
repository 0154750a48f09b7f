import { describe, expect, test } from 'vitest'
import type { Schedule } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { endRuns, firedTimes, scheduledRuns, scheduling, useStoppedClock } from '../support/schedules.ts'

const database = useDatabase()
const clock = useStoppedClock(database, '2026-11-30T00:00:00Z')
const { begin, shown } = scheduling(database, clock)

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
