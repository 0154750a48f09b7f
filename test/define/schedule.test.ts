import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/define/define-workflow.ts'
import { requireScheduled } from '../../src/define/make-scheduled.ts'
import { systemClock } from '../../src/model/clock.ts'
import { ConfigError, DurationError, type HoldfastError } from '../../src/model/errors.ts'

const handler = (): number => 1
// Schedules as JavaScript may write them, which the types would refuse.
const define = defineWorkflow as (options: unknown) => ReturnType<typeof defineWorkflow>
const withSchedule = (schedule: unknown): ReturnType<typeof defineWorkflow> => define({ name: 'x', handler, schedule })

function refusal(fn: () => unknown): HoldfastError {
  try {
    fn()
  } catch (error) {
    return error as HoldfastError
  }
  throw new Error('was not refused')
}

test('a schedule needs only its times', () => {
  expect(withSchedule({ cron: '0 9 * * 1-5' }).definition.schedule).toEqual({
    cron: '0 9 * * 1-5',
    zone: 'UTC',
    everyMs: undefined,
    catchUp: 'one',
    overlap: 'skip',
    inputJson: 'null',
    inputTypes: expect.stringContaining('undefined') as string,
  })
  expect(withSchedule({ every: '15m', input: { a: 1 } }).definition.schedule).toMatchObject({
    cron: undefined,
    everyMs: 900_000,
    inputJson: '{"a":1}',
    inputTypes: null,
  })
  expect(define({ name: 'x', handler }).definition.schedule).toBeUndefined()
})

describe('refusals', () => {
  test.each([
    ['schedule', 'daily', 'got a string', '{ cron } or { every }'],
    ['schedule', {}, 'got an object', 'either cron or every'],
    ['schedule', { cron: '* * * * *', every: '1m' }, 'got an object', 'either cron or every'],
    ['schedule.cron', { cron: 5 }, 'got 5', 'a cron expression'],
    ['schedule.cron', { cron: '' }, 'got an empty string', 'a cron expression of five fields'],
    ['schedule.cron', { cron: '60 * * * *' }, 'got a string', 'Invalid value for minute: 60'],
    ['schedule.cron', { cron: 'every day' }, 'got a string', 'exactly five, six'],
    ['schedule.cron', { cron: '0 0 * * * * 2027' }, 'got a string', 'a cron expression of five fields'],
    ['schedule.cron', { cron: '@reboot' }, 'got a string', 'a cron expression of five fields'],
    ['schedule.cron', { cron: '2026-12-01T00:00:00' }, 'got a string', 'a cron expression of five fields'],
    ['schedule.cron', { cron: '0 0 30 2 *' }, 'got a string', 'whose time comes at some date'],
    ['schedule.zone', { cron: '* * * * *', zone: 'Mars/Olympus' }, 'got a string', "such as 'Europe/Berlin'"],
    ['schedule.zone', { cron: '* * * * *', zone: '+02:00' }, 'got a string', 'the name of a time zone'],
    ['schedule.zone', { every: '1m', zone: 'UTC' }, 'got a string', 'a zone only with cron'],
    ['schedule.every', { every: '999ms' }, 'got 999', 'at least 1000 ms'],
    ['schedule.every', { every: 1_500.5 }, 'got 1500.5', 'whole milliseconds'],
    ['schedule.catchUp', { every: '1m', catchUp: 'some' }, 'got a string', 'one of none, one, all'],
    ['schedule.overlap', { every: '1m', overlap: 'kill' }, 'got a string', 'one of skip, queue, allow'],
    ['schedule.overlap', { every: '1m', catchUp: 'all' }, 'got undefined', "overlap: 'allow' with catchUp: 'all'"],
    ['schedule.input', { every: '1m', input: { at: handler } }, 'got an object', 'what can be stored'],
    ['schedule.input', { every: '1m', input: 'x'.repeat(2 ** 20) }, 'got a string', 'what can be stored'],
  ])('OPS-07: a wrong %s is refused: %o', (field, schedule, got, remedy) => {
    const error = refusal(() => withSchedule(schedule))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.field).toBe(field)
    expect(error.message).toContain(`workflow 'x': ${field} ${got}`)
    expect(error.message).toContain(remedy)
  })

  test('OPS-07: an unknown part is refused with the known ones named', () => {
    const error = refusal(() => withSchedule({ cron: '* * * * *', timezone: 'UTC' }))
    expect(error.field).toBe('schedule.timezone')
    expect(error.message).toContain('Known are: cron, every, zone, catchUp, overlap, input.')
  })

  test('TRY-08: an every that is no duration is a typed error that names it', () => {
    const error = refusal(() => withSchedule({ every: '5x' }))
    expect(error).toBeInstanceOf(DurationError)
    expect(error.field).toBe('schedule.every')
  })

  test.each([
    ['the schema refuses it', { input: z.object({ day: z.string() }), schedule: { every: '1m', input: { day: 7 } } }],
    ['it is missing', { input: z.string(), schedule: { every: '1m' } }],
    ['no group can be told', { group: () => 7, schedule: { every: '1m' } }],
  ])('OPS-07: an input that starts no run is refused by its name: %s', async (_, options) => {
    const workflow = define({ name: 'x', handler, ...options })
    await expect(requireScheduled(workflow, systemClock)).rejects.toMatchObject({
      code: 'CONFIG',
      field: 'schedule.input',
      message: expect.stringContaining("workflow 'x': schedule.input starts no run: ") as string,
    })
  })
})

test('each part of a schedule is part of the fingerprint, and no schedule is none', () => {
  const fingerprint = (schedule?: unknown): string => withSchedule(schedule).definition.fingerprint
  const different = [
    undefined,
    { cron: '0 9 * * *' },
    { cron: '0 8 * * *' },
    { cron: '0 9 * * *', zone: 'Europe/Berlin' },
    { every: '1m' },
    { every: '2m' },
    { every: '1m', catchUp: 'none' },
    { every: '1m', overlap: 'allow' },
    { every: '1m', input: 1 },
    { every: '1m', input: new Map() },
  ]
  expect(new Set(different.map(fingerprint)).size).toBe(different.length)
  expect(fingerprint({ every: 60_000, catchUp: 'one', overlap: undefined })).toBe(fingerprint({ every: '1m' }))
  // As it was before there were schedules.
  expect(fingerprint()).toBe('52801cd3a7553c20')
})

test('a later change of what was given reaches no run', () => {
  const input = { list: [1] }
  const { schedule } = withSchedule({ every: '1m', input }).definition
  input.list.push(2)
  expect(schedule?.inputJson).toBe('{"list":[1]}')
  expect(Object.isFrozen(schedule)).toBe(true)
})
