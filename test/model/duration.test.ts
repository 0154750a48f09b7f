import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, longestDurationMs, parseDuration } from '../../src/model/duration.ts'
import { DurationError } from '../../src/model/errors.ts'

test.each([
  [0, 0],
  [1.5, 1.5],
  [longestDurationMs, longestDurationMs],
  ['250ms', 250],
  ['0s', 0],
  ['10m', 600_000],
  ['1h30m', 5_400_000],
  ['1.5s', 1_500],
  ['1.1s', 1_100],
  ['3d', 259_200_000],
  ['1w2d3h4m5s6ms', 788_645_006],
])('TRY-08: the duration %j is %d ms', (given, ms) => {
  expect(parseDuration(given, 'timeout')).toBe(ms)
})

const bad: [string, unknown][] = [
  ['NaN', NaN],
  ['-1', -1],
  ['Infinity', Infinity],
  ['1e20', 1e20],
  ['just over 100 years', longestDurationMs + 1],
  ['a number with a wrong unit', '5x'],
  ['an empty string', ''],
  ['a number as text', '1000'],
  ['an exponent', '1e3s'],
  ['a negative text', '-5s'],
  ['a space', '5 s'],
  ['units in ascending order', '5m1h'],
  ['a unit twice', '1m1m'],
  ['text far beyond the end', '999999999w'],
  ['no digits', 'ms'],
  ['a line break', '5s\n'],
  ['null', null],
  ['undefined', undefined],
  ['a bigint', 5n],
  ['a Date', new Date(0)],
  ['an array', ['5s']],
]

test.each(bad)('TRY-08: %s is no duration, and the error names the field and shows a good one', (_, given) => {
  expect.assertions(3)
  try {
    parseDuration(given, 'retry.initial')
  } catch (error) {
    expect(error).toBeInstanceOf(DurationError)
    expect(error).toMatchObject({ code: 'DURATION', field: 'retry.initial' })
    expect((error as DurationError).message).toMatch(/^retry\.initial is .*'1h30m'/)
  }
})

test.each([
  [0, '0ms'],
  [0.25, '0.25ms'],
  [999.9999, '1s'],
  [1_500, '1.5s'],
  [5_400_000, '1h30m'],
  [86_400_000, '1d'],
  [777_600_000, '9d'],
  [1_209_600_000, '2w'],
  [3_600_001, '1h0.001s'],
  [-1_500, '-1.5s'],
])('%d ms reads %j', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test('what formatDuration writes, parseDuration reads', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: longestDurationMs }), (ms) => {
      expect(parseDuration(formatDuration(ms), 'd')).toBe(ms)
    }),
  )
})
