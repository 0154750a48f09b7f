import { MismatchError } from '../model/errors.ts'
import type { LogFields, Logger } from '../model/logger.ts'
import { silentLogger } from '../trace/bound-logger.ts'

/** The log of a claim under `onMismatch: 'warn'`: notes where its handler left the way on record, and writes nothing. */
export class StrayLog implements Logger {
  readonly debug: Logger['debug'] = silentLogger.debug
  readonly info: Logger['info'] = silentLogger.info
  readonly error: Logger['error'] = silentLogger.error
  #step: string | undefined

  /** The step at which it did; undefined: it did not. */
  get step(): string | undefined {
    return this.#step
  }

  readonly warn = ({ error }: LogFields): void => {
    if (error instanceof MismatchError) this.#step ??= error.field
  }
}
