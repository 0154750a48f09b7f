import type { LogFields, Logger } from '../model/logger.ts'

/** Writes nothing: what a worker without a logger has. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** A logger whose lines all carry the given fields. A sink that throws is no reason to fail: its line is lost. */
export function boundLogger(sink: Logger, bound: LogFields): Logger {
  const write = (level: keyof Logger) => (fields: LogFields, message: string) => {
    try {
      sink[level]({ ...bound, ...fields }, message)
    } catch {
      // Nowhere is left to say so.
    }
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
