import { lateReason } from '../../src/worker/claim-runner.ts'
import { expect, test } from 'vitest'
import type { HistoryEvent } from '../support/history.ts'
import { check, type Verdict } from './checker.ts'
import type { Evidence } from './evidence.ts'
import { stepKeys } from './workflows.ts'

/** A run that was claimed, lost its lease when it had kept `a`, was claimed again and came to its end. */
const run = 'run-1'
const answers = Object.fromEntries(stepKeys.map((key, place) => [key, { nonce: `1.${place}`, at: place }]))
const valueOf = (key: string): string => JSON.stringify(answers[key])

const blank: HistoryEvent = {
  n: 0,
  subject: 'run',
  op: 'update',
  xid: 0,
  at: 0,
  committedAt: null,
  run,
  worker: 'worker-1',
  attempt: 1,
  oldState: null,
  state: null,
  oldToken: null,
  token: null,
  oldLeaseUntil: null,
  claimedAt: null,
  key: null,
  value: null,
  runToken: null,
}

const event = (n: number, rest: Partial<HistoryEvent>): HistoryEvent => ({
  ...blank,
  n,
  xid: n,
  at: n * 10,
  committedAt: n * 10,
  ...rest,
})

const move = (n: number, oldState: string, oldToken: number, state: string, token: number): HistoryEvent =>
  event(n, { oldState, oldToken, state, token, oldLeaseUntil: n * 10 - 1 })

const kept = (n: number, key: string, token: number): HistoryEvent =>
  event(n, { subject: 'step', op: 'insert', key, token, runToken: token, value: valueOf(key) })

const good: Evidence = {
  starts: [{ id: run, index: 0, key: 'voyage 0' }],
  runs: [
    {
      id: run,
      state: 'done',
      attempt: 2,
      key: 'voyage 0',
      output: JSON.stringify({ index: 0, answers }),
      reason: null,
    },
  ],
  memos: stepKeys.map((key) => ({ run, key, value: valueOf(key) })),
  claims: [
    { run, token: 1, worker: 'worker-1', beganAt: 20, endedAt: 40, outcome: 'lease_lost' },
    { run, token: 3, worker: 'worker-2', beganAt: 50, endedAt: 100, outcome: 'done' },
  ],
  effects: [{ run, nonce: '1.3' }],
  events: [
    event(1, { op: 'insert', state: 'waiting', token: 0 }),
    move(2, 'waiting', 0, 'running', 1),
    kept(3, 'a', 1),
    move(4, 'running', 1, 'waiting', 2),
    move(5, 'waiting', 2, 'running', 3),
    ...stepKeys.slice(1).map((key, place) => kept(6 + place, key, 3)),
    move(10, 'running', 3, 'done', 4),
  ],
  bodies: [
    ...stepKeys.flatMap((key) => [
      { did: 'begin' as const, run, key, at: 0 },
      { did: 'end' as const, run, key, value: answers[key], at: 0 },
      { did: 'got' as const, run, key, value: answers[key], at: 0 },
    ]),
    { did: 'refused', run, key: 'settle_runs', token: 1, outcome: 'done', value: 'superseded', at: 60 },
    { did: 'settled', run, key: 'settle_runs', token: 3, outcome: 'done', at: 100 },
  ],
  faults: { kills: { planned: 10, done: 9 } },
  exits: [],
  falseConflicts: [],
}

function brokenOf(verdict: Verdict): Record<string, number> {
  return Object.fromEntries(Object.entries(verdict.broken).filter(([, count]) => count > 0))
}

/** The good story, with some of its run's, claim's or events' columns otherwise. */
const withRun = (rest: Partial<Evidence['runs'][number]>): Evidence => ({
  ...good,
  runs: good.runs.map((each) => ({ ...each, ...rest })),
})

const withEvent = (n: number, rest: Partial<HistoryEvent>): Evidence => ({
  ...good,
  events: good.events.map((each) => (each.n === n ? { ...each, ...rest } : each)),
})

test('finds nothing in a good history, and counts what is allowed', () => {
  const verdict = check({ ...good, bodies: [{ did: 'begin', run, key: 'a', at: 0 }, ...good.bodies] })

  expect(brokenOf(verdict)).toEqual({})
  expect(verdict).toMatchObject({ isGood: true, finished: 1, bodiesRepeated: 1, refusedStale: 1, counterExamples: [] })
})

const dead = event(3, { subject: 'worker', run: null, oldState: null, state: 'dead' })
const settled = event(10, { subject: 'step', op: 'insert', key: 'left', token: 3, runToken: 4, value: '1' })

test.each<[string, Evidence]>([
  [
    'a claim ended with its dead worker, long before its lease',
    {
      ...withEvent(4, { oldLeaseUntil: 9_999 }),
      events: withEvent(4, { oldLeaseUntil: 9_999 }).events.toSpliced(3, 0, dead),
    },
  ],
  ['a failure that its settle leaves', { ...good, events: [...good.events, settled] }],
  [
    'a step of a claim that had let go of its run, refused',
    {
      ...good,
      claims: good.claims.map((claim) => (claim.token === 1 ? { ...claim, outcome: 'released' } : claim)),
      bodies: good.bodies.map((line) => (line.did === 'refused' ? { ...line, key: 'keep_steps' } : line)),
    },
  ],
  [
    'a claim that its own worker gave back after it had been frozen',
    {
      ...good,
      claims: good.claims.map((claim) =>
        claim.token === 1 ? { ...claim, outcome: 'retry', reason: lateReason } : claim,
      ),
    },
  ],
  ['an attempt more after a worker that was let go', { ...good, relieved: ['worker-1'] }],
])('allows %s', (_, evidence) => {
  expect(brokenOf(check(evidence))).toEqual({})
})

test.each<[string, string, Evidence]>([
  [
    'lost',
    'a start that is not there',
    { ...good, starts: [...good.starts, { id: 'run-2', index: 1, key: undefined }] },
  ],
  ['lost', 'a run that failed', withRun({ state: 'failed', output: null, reason: 'no luck' })],
  ['lost', 'an output that its memos do not bear out', withRun({ output: '{"index":0,"answers":{}}' })],
  ['stuck', 'a run that has not ended', withRun({ state: 'waiting' })],
  [
    'kept_twice',
    'a memo that was changed',
    {
      ...good,
      events: [...good.events, event(11, { subject: 'step', op: 'update', key: 'a', value: '2' })],
    },
  ],
  ['kept_twice', 'a memo that was kept again', { ...good, events: [...good.events, { ...kept(9, 'b', 3) }] }],
  [
    'kept_twice',
    'a handler that was given something else',
    {
      ...good,
      bodies: [...good.bodies, { did: 'got', run, key: 'a', value: 'else', at: 0 }],
    },
  ],
  [
    'kept_twice',
    'an answer that no body made',
    {
      ...good,
      bodies: good.bodies.filter(({ did, key }) => did !== 'end' || key !== 'b'),
    },
  ],
  ['kept_twice', 'an effect that is there twice', { ...good, effects: [...good.effects, { run, nonce: '9.9' }] }],
  ['kept_twice', 'an effect that is missing', { ...good, effects: [] }],
  ['kept_twice', 'two runs of one key', { ...good, runs: [...good.runs, { ...good.runs[0]!, id: 'run-2' }] }],
  ['stale_memos', 'a memo of a claim that was over', withEvent(6, { token: 1 })],
  ['stale_memos', 'a memo that was committed after its claim', withEvent(3, { committedAt: 45 })],
  ['bad_moves', 'a move that no table has', withEvent(10, { oldState: 'waiting', oldToken: 3 })],
  ['bad_moves', 'a token that jumps', withEvent(10, { token: 6 })],
  ['bad_moves', 'a run that was deleted', { ...good, events: [...good.events, event(11, { op: 'delete' })] }],
  [
    'two_claims',
    'a claim before the end of the last',
    {
      ...good,
      claims: good.claims.map((claim) => (claim.token === 3 ? { ...claim, beganAt: 30 } : claim)),
    },
  ],
  ['two_claims', 'a claim that was ended while it was leased', withEvent(4, { oldLeaseUntil: 9_999 })],
  [
    'retries_unasked',
    'an attempt that failed by no doing of its handler',
    {
      ...good,
      claims: good.claims.map((claim) =>
        claim.token === 1 ? { ...claim, outcome: 'retry', error: 'lock timeout' } : claim,
      ),
    },
  ],
  [
    'stale_settles',
    'a settle accepted of a claim that was over',
    {
      ...good,
      bodies: [...good.bodies, { did: 'settled', run, key: 'settle_runs', token: 1, outcome: 'snooze', at: 60 }],
    },
  ],
  [
    'false_conflicts',
    'a settle refused of a claim that nobody ended',
    {
      ...good,
      bodies: [...good.bodies, { did: 'refused', run, key: 'settle_runs', token: 3, value: 'not_found', at: 200 }],
    },
  ],
  [
    'false_conflicts',
    'a step refused before its claim had ended',
    {
      ...good,
      bodies: [...good.bodies, { did: 'refused', run, key: 'keep_steps', token: 3, value: 'not_found', at: 60 }],
    },
  ],
  ['false_conflicts', 'a start that met itself', { ...good, falseConflicts: ['KEY_REUSED'] }],
  ['attempts_counted_for_living', 'an attempt that nobody asked for', { ...good, relieved: [] }],
  ['exits', 'a process that ended by itself', { ...good, exits: ['worker-1 ended with 1'] }],
  ['faults', 'too few faults', { ...good, faults: { kills: { planned: 10, done: 8 } } }],
])('complains as %s of %s', (rule, _, evidence) => {
  const verdict = check(evidence)

  expect(verdict.isGood).toBe(false)
  expect(Object.keys(brokenOf(verdict))).toContain(rule)
  expect(verdict.counterExamples.join('\n')).toContain(`${rule}: `)
})
