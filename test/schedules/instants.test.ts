import { describe, expect, test } from 'vitest'
import { instantsBetween, nextInstant, wantedInstants, type Timing } from '../../src/define/schedule-instants.ts'

const hour = 3_600_000
const day = 24 * hour

const cron = (expression: string, zone = 'UTC'): Timing => ({ cron: expression, zone, everyMs: undefined })
const every = (everyMs: number): Timing => ({ cron: undefined, zone: 'UTC', everyMs })

const texts = (instants: readonly number[]): string[] => instants.map((at) => new Date(at).toISOString())

/** What clocks show in a zone at an instant. */
function local(at: number, zone: string): { readonly day: string; readonly time: string } {
  const format = new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const [date = '', time = ''] = format.format(at).split(' ')
  return { day: date, time }
}

/** Where the clocks of a zone are changed in 2026, to the minute. */
function changesOf(zone: string): number[] {
  const offset = (at: number): number => Date.parse(`${local(at, zone).day}T${local(at, zone).time}Z`) - at
  const changes: number[] = []
  for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at += hour / 2) {
    if (offset(at) !== offset(at + hour / 2)) changes.push(at + hour / 2)
  }
  return changes
}

const zones = [
  'Europe/Berlin',
  'America/New_York',
  'America/Santiago', // the hour before midnight comes twice
  'America/Havana', // midnight does not come
  'Africa/Cairo', // a Friday's
  'Asia/Beirut',
  'Australia/Lord_Howe', // by half an hour
  'Pacific/Chatham', // a quarter of an hour off
]
const daily = ['30 2 * * *', '0 0 * * *', '30 0 * * *', '45 1 * * *', '30 23 * * *', '0 3 * * *']

describe.each(zones)('the days on which clocks are changed in %s', (zone) => {
  const changes = changesOf(zone)

  test('there are two', () => expect(changes).toHaveLength(2))

  test.each(daily)('WAIT-04, G9: %s comes once on each day', (expression) => {
    const [minute, wanted] = expression.split(' ').map(Number)
    for (const change of changes) {
      const [from, until] = [change - 4 * day, change + 4 * day]
      const came = instantsBetween(cron(expression, zone), from, until, 100).map((at) => local(at, zone))
      const days = new Set(Array.from({ length: 6 * 24 }, (_, n) => local(change - 3 * day + n * hour, zone).day))
      for (const each of days)
        expect({ each, times: came.filter((at) => at.day === each).length }).toEqual({ each, times: 1 })
      // Away from the change it comes when it says.
      const said = `${String(wanted).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00`
      expect(came.filter(({ time }) => time !== said).length).toBeLessThanOrEqual(1)
    }
  })

  test('a quarter of an hour goes by what the clock shows, without a gap and without a rest', () => {
    for (const change of changes) {
      const came = instantsBetween(cron('*/15 * * * *', zone), change - day, change + day, 1_000)
      expect(came).toHaveLength(192)
      expect(came.every((at, n) => at === came[0]! + n * (hour / 4))).toBe(true)
    }
  })

  test('it is the same from wherever one looks', () => {
    for (const change of changes) {
      for (const expression of [...daily, '0 * * * *', '15 1-3 * * *', '0,30 0,1,2,3,23 * * *']) {
        const all = instantsBetween(cron(expression, zone), change - 2 * day, change + 2 * day, 500)
        for (let after = change - day; after < change + day; after += hour * 1.9) {
          expect(nextInstant(cron(expression, zone), after)).toBe(all.find((at) => at > after))
          const schedule = { ...cron(expression, zone), catchUp: 'one' } as const
          const last = all.findLast((at) => at <= after)
          expect(wantedInstants(schedule, change - 2 * day, after, 10).instants).toEqual([last])
        }
      }
    }
  })
})

test('WAIT-04: a time that does not exist comes at the end of the gap, and one that exists twice comes the first time', () => {
  const berlin = cron('30 2 * * *', 'Europe/Berlin')
  expect(texts(instantsBetween(berlin, Date.parse('2026-03-28T12:00Z'), Date.parse('2026-03-30T12:00Z'), 9))).toEqual([
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ])
  expect(texts(instantsBetween(berlin, Date.parse('2026-10-24T12:00Z'), Date.parse('2026-10-26T12:00Z'), 9))).toEqual([
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
  ])
  const twice = cron('30 2,14 * * *', 'Europe/Berlin')
  expect(texts(instantsBetween(twice, Date.parse('2026-03-29T00:00Z'), Date.parse('2026-03-29T22:00Z'), 9))).toEqual([
    '2026-03-29T01:00:00.000Z',
    '2026-03-29T12:30:00.000Z',
  ])
})

test('every comes at the multiples since 1970, after what was and up to the end', () => {
  expect(texts(instantsBetween(every(7_000), 0, 21_000, 9))).toEqual([
    '1970-01-01T00:00:07.000Z',
    '1970-01-01T00:00:14.000Z',
    '1970-01-01T00:00:21.000Z',
  ])
  expect(nextInstant(every(60_000), Date.parse('2026-11-30T12:00:00Z'))).toBe(Date.parse('2026-11-30T12:01:00Z'))
  expect(nextInstant(every(60_000), Date.parse('2026-11-30T11:59:59.999Z'))).toBe(Date.parse('2026-11-30T12:00:00Z'))
  expect(instantsBetween(every(1_000), 0, 1e15, 3)).toEqual([1_000, 2_000, 3_000])
})

test('seconds come first where there are six fields', () => {
  const from = Date.parse('2026-11-30T12:00:00Z')
  expect(texts(instantsBetween(cron('*/20 * * * * *'), from, from + 60_000, 9))).toEqual([
    '2026-11-30T12:00:20.000Z',
    '2026-11-30T12:00:40.000Z',
    '2026-11-30T12:01:00.000Z',
  ])
})

test('the clock and the zone of the process change nothing', () => {
  const zone = process.env['TZ']
  const read = (): number[] =>
    instantsBetween(cron('30 2 * * *', 'Europe/Berlin'), Date.UTC(2026, 2, 27), Date.UTC(2026, 3, 1), 9)
  const expected = read()
  for (const other of ['America/New_York', 'Asia/Kolkata']) {
    process.env['TZ'] = other
    expect(read()).toEqual(expected)
  }
  if (zone === undefined) delete process.env['TZ']
  else process.env['TZ'] = zone
})
