import { isDeepStrictEqual } from 'node:util'
import type { Rollback, RunView } from '../client/run-view.ts'
import { encode } from '../model/codec.ts'
import type { FailureCause } from '../model/errors.ts'
import type { State } from '../model/state.ts'

/** How a run ended. */
export interface CrashOutcome {
  readonly state: State
  readonly output: unknown
  readonly failure: FailureCause | undefined
  readonly reason: string | undefined
  /** What became of its kept steps that can be undone, if it failed. */
  readonly rollback: Omit<Rollback, 'run'> | undefined
}

export function outcomeOf({ state, output, failure, reason, rollback }: RunView): CrashOutcome {
  const { state: undoing = 'waiting', undone = [], failed = [] } = rollback ?? {}
  return { state, output, failure, reason, rollback: rollback && { state: undoing, undone, failed } }
}

export interface Ended {
  readonly runId: string
  readonly outcome: CrashOutcome
}

/**
 * Whether a run ended as two others did that no crash befell. What differs between those two is made anew in each run, such
 * as an id or a time: it only has to be there. A run's own id may be part of what it answers.
 */
export function isAlike(first: Ended, second: Ended, got: Ended): boolean {
  return agree(plain(first), plain(second), plain(got))
}

function plain({ runId, outcome }: Ended): unknown {
  const { json, types } = encode(outcome, 'output', { maxBytes: Infinity })
  return JSON.parse(JSON.stringify([JSON.parse(json), types]).replaceAll(runId, 'the run'))
}

function agree(first: unknown, second: unknown, got: unknown): boolean {
  if (isDeepStrictEqual(first, second)) return isDeepStrictEqual(first, got)
  if (typeof got !== typeof first || typeof got !== typeof second) return false
  if (!isBranch(first) || !isBranch(second) || !isBranch(got)) return true
  const keys = Object.keys(first)
  if (!isDeepStrictEqual(keys, Object.keys(second))) return true
  return isDeepStrictEqual(keys, Object.keys(got)) && keys.every((key) => agree(first[key], second[key], got[key]))
}

function isBranch(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
