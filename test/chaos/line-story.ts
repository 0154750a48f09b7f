import { noCaps, type Change, type InForce, type LimitsEvidence, type Move } from './limits-evidence.ts'

/** Histories of lines as tests make them up. */

let n = 0

/** Each is a transaction of its own unless it says otherwise, seen by others when it was written. */
export function move(at: number, run: string, oldState: string | null, state: string, rest: Partial<Move> = {}): Move {
  n += 1
  const claimedAt = state === 'running' ? at : null
  const own = { n, xid: n, at, committedAt: at, claimedAt, isFree: false, workflow: 'haul', group: 'g' }
  return { ...own, run, oldState, state, ...rest }
}

export const start = (at: number, run: string, rest?: Partial<Move>): Move => move(at, run, null, 'waiting', rest)
export const begin = (at: number, run: string, rest?: Partial<Move>): Move => move(at, run, 'waiting', 'running', rest)
export const end = (at: number, run: string, rest?: Partial<Move>): Move => move(at, run, 'running', 'done', rest)

export function change(at: number, caps: Partial<InForce> | null, workflow = 'haul'): Change {
  n += 1
  const inForce = caps && { ...noCaps, isPaused: false, isWide: false, ...caps }
  return { n, at, committedAt: at, workflow, inForce }
}

/** What happened, in order; all runs came to their ends unless it says otherwise. */
export function story(happened: readonly (Move | Change)[], rest: Partial<LimitsEvidence> = {}): LimitsEvidence {
  const moves = happened.filter((each) => 'run' in each)
  const ids = new Set(moves.map(({ run }) => run))
  return {
    acknowledged: [...ids],
    runs: [...ids].map((id) => ({ id, state: 'done' })),
    moves,
    changes: happened.filter((each) => 'inForce' in each),
    said: {},
    brokenInvariants: [],
    slots: 100,
    deadlocks: 0,
    exits: [],
    faults: { kills: { planned: 10, done: 9 } },
    ...rest,
  }
}

export const one = { groupConcurrency: 1 }
export const wide = { concurrency: 1, isWide: true }
export const rate = { rate: { limit: 2, perMs: 1_000 }, isWide: true }
export const groupRate = { groupRate: { limit: 1, perMs: 1_000 } }
export const inH = { group: 'h' }
