import type { LogFields, Logger } from '../model/logger.ts'

/** Writes nothing: what a worker without a logger has. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/**
 * A logger whose lines all carry the given fields. A sink that throws, or whose promise rejects, is no reason to fail:
 * its line is lost.
 */
export function boundLogger(sink: Logger, bound: LogFields): Logger {
  return new BoundLogger(sink, bound)
}

class BoundLogger implements Logger {
  readonly #sink: Logger
  readonly #bound: LogFields

  constructor(sink: Logger, bound: LogFields) {
    this.#sink = sink
    this.#bound = bound
  }

  debug(fields: LogFields, message: string): void {
    this.#write('debug', fields, message)
  }

  info(fields: LogFields, message: string): void {
    this.#write('info', fields, message)
  }

  warn(fields: LogFields, message: string): void {
    this.#write('warn', fields, message)
  }

  error(fields: LogFields, message: string): void {
    this.#write('error', fields, message)
  }

  #write(level: keyof Logger, fields: LogFields, message: string): void {
    try {
      const written: unknown = this.#sink[level]({ ...this.#bound, ...fields }, message)
      if (written instanceof Promise) written.catch(() => undefined)
    } catch {
      // Nowhere is left to say so.
    }
  }
}
