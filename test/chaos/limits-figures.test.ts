import { describe, expect, test } from 'vitest'
import { begin, change, end, groupRate, inH, one, rate, start, story } from './line-story.ts'
import { checkLimits } from './limits-checker.ts'
import type { Change, Move } from './limits-evidence.ts'

describe('the use of slots', () => {
  const useOf = (happened: readonly (Move | Change)[]): number | null => checkLimits(story(happened)).slots.all
  const waiting = [start(0, 'c'), start(0, 'd')]

  test('counts while more want to run than may, and no longer', () => {
    const happened = [
      change(0, one),
      start(0, 'a'),
      ...waiting,
      begin(0, 'a'),
      end(60, 'a'),
      begin(100, 'c'),
      end(200, 'c'),
    ]
    // Of the first 100 ms 60; from then on one waits and one runs; then there is one left, which is no backlog.
    expect(useOf([...happened, begin(900, 'd'), end(1_000, 'd')])).toBe(0.8)
  })

  test('is null where nothing was held back', () => {
    expect(useOf([change(0, one), start(0, 'a'), begin(10, 'a'), end(60, 'a')])).toBe(null)
  })

  test('counts a group of a workflow that is not full itself, and else the workflow', () => {
    const caps = { concurrency: 2, groupConcurrency: 1, isWide: true }
    const group = [change(0, caps), start(0, 'a'), ...waiting, begin(0, 'a'), end(50, 'a'), begin(100, 'c')]
    expect(useOf(group)).toBe(0.5)
    const others = [start(0, 'e', inH), start(0, 'f', { group: 'i' })]
    expect(useOf([change(0, caps), start(0, 'a'), ...waiting, ...others, begin(0, 'a'), begin(100, 'c')])).toBe(0.5)
  })

  test('is at most all, though a limit was lowered', () => {
    const happened = [
      change(0, { groupConcurrency: 2 }),
      begin(0, 'a'),
      begin(0, 'e'),
      ...waiting,
      change(1, one),
      end(100, 'a'),
    ]
    expect(useOf(happened)).toBe(1)
  })
})

describe('the use of rates', () => {
  const useOf = (happened: readonly (Move | Change)[]): number | null => checkLimits(story(happened)).rates.all
  const runs = Array.from({ length: 20 }, (_, index) => start(0, `r${index}`))
  const beginAt = (...at: readonly number[]): Move[] => at.map((each, index) => begin(each, `r${index}`))

  test('is whole if the next begins as soon as its rate lets it', () => {
    expect(useOf([change(0, rate), ...runs, ...beginAt(5, 6, 1_005, 1_006, 2_005, 2_006, 3_005)])).toBe(1)
  })

  test('is less by what comes late', () => {
    expect(useOf([change(0, rate), ...runs, ...beginAt(0, 0, 1_500, 1_500, 3_000)])).toBe(0.667)
  })

  test('does not count what nobody waited for', () => {
    const lone = [start(0, 'a'), begin(1, 'a'), start(5_000, 'c'), begin(5_001, 'c')]
    expect(useOf([change(0, rate), ...lone])).toBe(null)
  })

  test('is told for each group', () => {
    expect(useOf([change(0, groupRate), ...runs, ...beginAt(0, 2_000, 4_000)])).toBe(0.5)
  })

  test('does not count claims that go on after a wait', () => {
    const begins = (): Move[] => beginAt(0, 500, 2_000).map((each) => ({ ...each, isFree: each.at === 500 }))
    expect(useOf([change(0, groupRate), ...runs, ...begins()])).toBe(0.5)
  })
})
