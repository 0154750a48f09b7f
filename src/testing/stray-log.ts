import { MismatchError } from '../model/errors.ts'
import type { LogFields, Logger } from '../model/logger.ts'

/** The log of a claim under `onMismatch: 'warn'`: notes where its handler left the way on record, and writes nothing. */
export class StrayLog implements Logger {
  #step: string | undefined

  /** The step at which it did; undefined: it did not. */
  get step(): string | undefined {
    return this.#step
  }

  warn({ error }: LogFields): void {
    if (error instanceof MismatchError) this.#step ??= error.field
  }

  debug(): void {}
  info(): void {}
  error(): void {}
}
