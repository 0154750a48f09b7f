import { encode } from '../model/codec.ts'
import { parseDuration } from '../model/duration.ts'
import { ArgumentError } from '../model/errors.ts'
import { resolveRetry, type ResolvedRetry } from '../model/retry.ts'
import type { Step, StepOptions } from '../model/run.ts'

export interface ResolvedStepOptions {
  readonly args: string | undefined
  readonly retry: ResolvedRetry | undefined
  readonly maxTries: number
  readonly timeoutMs: number | undefined
  readonly rollback: ((answer: never, step: Step) => unknown) | undefined
}

const maxArgsBytes = 64 * 1024
const defaultMaxTries = 3
/** What a step's row can count. */
const mostTries = 32_767
const known: readonly (keyof StepOptions<never>)[] = ['args', 'retry', 'timeout', 'rollback']

export const noStepOptions: ResolvedStepOptions = {
  args: undefined,
  retry: undefined,
  maxTries: 1,
  timeoutMs: undefined,
  rollback: undefined,
}

/** Throws a typed error that names the option. */
export function readStepOptions(given: StepOptions<never> | undefined): ResolvedStepOptions {
  if (given === undefined) return noStepOptions
  const unknown = Object.keys(given).find((key) => !(known as readonly string[]).includes(key))
  if (unknown !== undefined) {
    throw new ArgumentError(`A step has no option "${unknown}".`, {
      field: unknown,
      remedy: `It has: ${known.join(', ')}.`,
    })
  }
  const { args, retry, timeout, rollback } = given
  const undo: unknown = rollback
  if (undo !== undefined && typeof undo !== 'function') {
    throw new ArgumentError(`rollback is ${undo === null ? 'null' : `a ${typeof undo}`}.`, {
      field: 'rollback',
      remedy: "Give a function of the step's answer that undoes it.",
    })
  }
  const { maxTries = defaultMaxTries, ...policy } = retry ?? {}
  if (!Number.isSafeInteger(maxTries) || maxTries < 1 || maxTries > mostTries) {
    throw new ArgumentError(`A step is tried a whole number of times, from 1 to ${mostTries}.`, {
      field: 'retry.maxTries',
      remedy: 'To try for longer, wait longer between two tries.',
    })
  }
  return {
    args: args === undefined ? undefined : encode(args, 'args', { maxBytes: maxArgsBytes }).json,
    retry: retry && resolveRetry(policy, 'retry'),
    maxTries: retry ? maxTries : 1,
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout, 'timeout'),
    rollback,
  }
}
