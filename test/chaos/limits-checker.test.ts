import { expect, test } from 'vitest'
import { begin, change, end, groupRate, inH, one, rate, start, story, wide } from './line-story.ts'
import { checkLimits, type LimitsVerdict } from './limits-checker.ts'
import { noCaps, type LimitsEvidence } from './limits-evidence.ts'

function brokenOf({ broken }: LimitsVerdict): Record<string, number> {
  return Object.fromEntries(Object.entries(broken).filter(([, count]) => count > 0))
}

test.each<[string, LimitsEvidence]>([
  [
    'one after the other, and one of each of two groups',
    story([
      change(0, one),
      start(1, 'a'),
      begin(2, 'a'),
      start(3, 'c', inH),
      begin(4, 'c', inH),
      end(5, 'a'),
      start(6, 'd'),
      begin(7, 'd'),
    ]),
  ],
  [
    'a settle that hands its place over in its own transaction',
    story([
      change(0, one),
      start(1, 'a'),
      start(1, 'c'),
      begin(2, 'a'),
      end(5, 'a', { xid: 99 }),
      begin(5, 'c', { xid: 99 }),
    ]),
  ],
  [
    'more than a limit that was lowered while they ran',
    story([change(0, { groupConcurrency: 2 }), begin(2, 'a'), begin(3, 'c'), change(4, one), end(5, 'a')]),
  ],
  [
    'any number of runs in no group',
    story([change(0, one), begin(2, 'a', { group: '' }), begin(3, 'c', { group: '' })]),
  ],
  [
    'as many as a rate lets, and one more as its stretch is over',
    story([change(0, rate), begin(1, 'a'), begin(2, 'c'), begin(1_001, 'd')]),
  ],
  [
    'claims that a rate does not count',
    story([change(0, rate), begin(1, 'a'), begin(2, 'c'), begin(3, 'd', { isFree: true })]),
  ],
  [
    'starts of before a rate came into force',
    story([change(0, null), begin(1, 'a'), begin(2, 'c'), change(3, rate), begin(4, 'd'), begin(5, 'e')]),
  ],
  [
    'starts under a rate of before another came into force',
    story([change(0, groupRate), begin(1, 'a'), change(3, { groupRate: { limit: 1, perMs: 500 } }), begin(4, 'c')]),
  ],
  [
    'an old release that was seen, and the new one',
    story([change(1, one, 'w'), change(2, wide, 'w')], {
      said: {
        w: [
          { ...noCaps, ...one },
          { ...noCaps, ...wide },
        ],
      },
    }),
  ],
  ['a short wait for a free place', story([change(0, one), start(1, 'a'), begin(7_900, 'a')])],
  [
    'a long wait for a full line',
    story([change(0, one), start(1, 'a'), start(1, 'c'), begin(2, 'a'), end(9_000, 'a'), begin(9_001, 'c')]),
  ],
  [
    'a long wait for a rate',
    story([change(0, groupRate), start(1, 'a'), start(1, 'c'), begin(2, 'a'), end(3, 'a'), begin(2_500, 'c')]),
  ],
  [
    'a long wait while paused',
    story([change(0, { ...wide, isPaused: true }), start(1, 'a'), change(9_000, wide), begin(9_001, 'a')]),
  ],
  [
    'a long wait where no worker has a slot',
    story([change(0, one), begin(1, 'z', inH), start(2, 'a'), end(9_000, 'z', inH), begin(9_001, 'a')], { slots: 1 }),
  ],
])('finds nothing in %s', (_, evidence) => {
  expect(brokenOf(checkLimits(evidence))).toEqual({})
})

test.each<[string, string, LimitsEvidence]>([
  ['concurrency_violations', 'one too many of a group', story([change(0, one), begin(2, 'a'), begin(3, 'c')])],
  ['concurrency_violations', 'one too many of a workflow', story([change(0, wide), begin(2, 'a'), begin(3, 'c', inH)])],
  [
    'concurrency_violations',
    'one too many in the transaction that claims',
    story([change(0, one), begin(2, 'a', { xid: 99 }), begin(2, 'c', { xid: 99 })]),
  ],
  [
    'concurrency_violations',
    'a start under a limit that was lowered before it',
    story([
      change(0, { groupConcurrency: 3 }),
      begin(2, 'a'),
      begin(3, 'c'),
      change(4, one),
      end(5, 'a'),
      begin(6, 'd'),
    ]),
  ],
  [
    'concurrency_violations',
    'a start while paused',
    story([change(0, { isPaused: true, isWide: true }), begin(2, 'a')]),
  ],
  [
    'concurrency_violations',
    'a place that is given on before its holder has left',
    story([change(0, one), begin(2, 'a'), begin(5, 'c', { xid: 99 }), end(5, 'a', { xid: 99 })]),
  ],
  [
    'rate_violations',
    'one too many of a workflow',
    story([change(0, rate), begin(1, 'a'), begin(2, 'c', inH), begin(1_000.999, 'd')]),
  ],
  ['rate_violations', 'one too many of a group', story([change(0, groupRate), begin(1, 'a'), begin(1_000, 'c')])],
  [
    'rate_violations',
    'too many at one instant',
    story([change(0, groupRate), begin(1, 'a', { xid: 99 }), begin(1, 'c', { xid: 99 })]),
  ],
  [
    'rate_violations',
    'one too many although another limit changed meanwhile',
    story([
      change(0, groupRate),
      begin(1, 'a'),
      change(2, { ...groupRate, concurrency: 5, isWide: true }),
      begin(900, 'c'),
    ]),
  ],
  [
    'early_instants',
    'a start that says it began before its line was free',
    story([change(0, one), begin(1, 'a'), end(5, 'a'), begin(6, 'c', { claimedAt: 4 })]),
  ],
  [
    'early_instants',
    'a start that says it began later than it did',
    story([change(0, one), begin(1, 'a', { claimedAt: 2 })]),
  ],
  ['stalled', 'a run that nobody looks at', story([change(0, one), start(1, 'a'), begin(8_100, 'a')])],
  ['stalled', 'one that still waits at the end', story([change(0, one), start(1, 'a'), begin(8_100, 'z', inH)])],
  [
    'stalled',
    'a run that waits after its line has room again',
    story([change(0, one), start(1, 'a'), start(1, 'c'), begin(2, 'a'), end(10, 'a'), begin(8_100, 'c')]),
  ],
  [
    'stalled',
    'a run that waits after its rate lets it begin',
    story([change(0, groupRate), start(1, 'a'), start(1, 'c'), begin(2, 'a'), end(3, 'a'), begin(9_100, 'c')]),
  ],
  [
    'stalled',
    'a run that waits after its limit was raised',
    story([
      change(0, one),
      start(0, 'a'),
      begin(1, 'a'),
      start(1, 'c'),
      change(5, { groupConcurrency: 2 }),
      begin(8_100, 'c'),
    ]),
  ],
  ['lost', 'a start that is not there', story([], { acknowledged: ['a'] })],
  ['stuck', 'a run that has not ended', story([], { runs: [{ id: 'a', state: 'waiting' }] })],
  ['flapped', 'other limits than were said', story([change(1, one, 'w')], { said: { w: [{ ...noCaps, ...wide }] } })],
  [
    'flapped',
    'an old release that came back',
    story([change(1, one, 'w'), change(2, wide, 'w'), change(3, one, 'w'), change(4, wide, 'w')], {
      said: {
        w: [
          { ...noCaps, ...one },
          { ...noCaps, ...wide },
        ],
      },
    }),
  ],
  ['broken_invariants', 'a broken invariant', story([], { brokenInvariants: [{ name: 'x', after: 'y', rows: [1] }] })],
  ['deadlocks', 'a dead lock', story([], { deadlocks: 1 })],
  ['exits', 'a process that ended by itself', story([], { exits: ['worker-1 ended with 1'] })],
  ['faults', 'too few faults', story([], { faults: { kills: { planned: 10, done: 8 } } })],
])('complains as %s of %s', (rule, _, evidence) => {
  const verdict = checkLimits(evidence)

  expect(verdict.isGood).toBe(false)
  expect(Object.keys(brokenOf(verdict))).toEqual([rule])
  expect(verdict.counterExamples.join('\n')).toContain(`${rule}: `)
})
