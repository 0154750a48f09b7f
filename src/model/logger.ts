/** What Holdfast writes its log lines to. pino and console fit as they are. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

/** What a log line is about, by name. */
export type LogFields = Readonly<Record<string, unknown>>
