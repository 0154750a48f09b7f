import { expect, test } from 'vitest'
import type { Clock } from '../../src/model/clock.ts'
import { systemClock } from '../../src/model/clock.ts'
import { isUuid, uuidv4, uuidv7 } from '../../src/model/id.ts'

function clockAt(...times: number[]): Clock {
  const last = times.at(-1) ?? 0
  return { ...systemClock, wallClock: () => times.shift() ?? last }
}

test('an id is a version 7 uuid that begins with its millisecond', () => {
  const id = uuidv7(clockAt(0x0123456789ab))
  expect(id).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(isUuid(id)).toBe(true)
})

test('ids of one millisecond rise, also past the end of the counter', () => {
  const clock = clockAt(1_700_000_000_000)
  const ids = Array.from({ length: 20_000 }, () => uuidv7(clock))
  expect(ids.findIndex((id, at) => at > 0 && id <= (ids[at - 1] ?? ''))).toBe(-1)
})

test('an id never goes back when the wall clock does', () => {
  const clock = clockAt(5_000, 1_000, 0, 4_999, 5_000, 5_001)
  const ids = Array.from({ length: 6 }, () => uuidv7(clock))
  expect(ids).toEqual(ids.toSorted())
  expect(ids[5]?.startsWith('00000000-1389')).toBe(true)
})

test('two processes in the same millisecond do not make the same id', () => {
  const ids = Array.from({ length: 2_000 }, () => uuidv7(clockAt(1_700_000_000_000)))
  expect(new Set(ids).size).toBe(ids.length)
})

test('a random id is a version 4 uuid that follows the clock only in its randomness', () => {
  const clock: Clock = { ...systemClock, randomBytes: (size) => new Uint8Array(size).fill(0xff) }
  expect(uuidv4(clock)).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff')
  expect(uuidv4(systemClock)).not.toBe(uuidv4(systemClock))
  expect(isUuid(uuidv4(systemClock))).toBe(true)
})

test.each([
  ['018f4d9e-1c2b-7a3d-8e4f-5a6b7c8d9e0f', true],
  ['018F4D9E-1C2B-7A3D-8E4F-5A6B7C8D9E0F', true],
  ['00000000-0000-0000-0000-000000000000', true],
  ['018f4d9e1c2b7a3d8e4f5a6b7c8d9e0f', false],
  ['018f4d9e-1c2b-7a3d-8e4f-5a6b7c8d9e0', false],
  ['018f4d9e-1c2b-7a3d-8e4f-5a6b7c8d9e0f\n', false],
  ['', false],
  [undefined, false],
  [7, false],
])('isUuid(%j) is %s', (value, expected) => {
  expect(isUuid(value)).toBe(expected)
})
