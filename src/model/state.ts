/**
 * The one table of a run's states. The SQL check constraint, the test-only guard trigger and the docs' diagram are
 * compared with it, so a state or a move exists here or nowhere.
 */

export const states = ['scheduled', 'waiting', 'running', 'suspended', 'done', 'failed', 'cancelled'] as const

/** Where a run is. `done`, `failed` and `cancelled` are ends; `scheduled` is not due yet, `suspended` waits within. */
export type State = (typeof states)[number]

/** state -> the states it may move to. `retry` is what brings a failed or cancelled run back. */
export const moves: Readonly<Record<State, readonly State[]>> = {
  scheduled: ['waiting', 'failed', 'cancelled'],
  waiting: ['running', 'failed', 'cancelled'],
  running: ['scheduled', 'waiting', 'suspended', 'done', 'failed', 'cancelled'],
  suspended: ['waiting', 'running', 'failed', 'cancelled'],
  done: [],
  failed: ['waiting'],
  cancelled: ['waiting'],
}

export const finalStates: readonly State[] = ['done', 'failed', 'cancelled']

export function isFinal(state: State): boolean {
  return finalStates.includes(state)
}
