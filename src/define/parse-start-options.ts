import { ArgumentError } from '../model/errors.ts'
import { createOptionReader } from './option-reader.ts'
import { startOptions } from './start-options.ts'
import type { ReadStartOptions, StartOptions } from './start-options.ts'

/** Start options with defaults filled in; what is undefined is left to the workflow or to the database's clock. */
export interface ResolvedStartOptions extends Omit<ReadStartOptions, 'delay'> {
  readonly delayMs: number | undefined
}

const readOptions = createOptionReader(startOptions, ArgumentError)

/** Throws ArgumentError, or DurationError for a `delay` that cannot be read. `workflowName` is for the message. */
export function parseStartOptions(given: StartOptions | undefined, workflowName: string): ResolvedStartOptions {
  const subject = `start of '${workflowName}'`
  const { delay: delayMs, ...options } = readOptions(given === undefined ? {} : given, subject)
  if (options.at !== undefined && delayMs !== undefined) {
    throw new ArgumentError(`${subject}: at and delay contradict each other.`, {
      field: 'delay',
      remedy: 'Give one of them.',
    })
  }
  return { ...options, delayMs }
}
