import { createColors } from 'picocolors'
import { systemClock } from '../model/clock.ts'
import type { LogFields, Logger } from '../model/logger.ts'

/** Log lines for a terminal, on stderr: time, level, message, then the fields as name=value. */
export function terminalLogger(): Logger {
  // It is undefined where there is no terminal, and then the library would decide by stdout and the environment.
  const colors = createColors(Boolean(process.stderr.isTTY) && !process.env['NO_COLOR'])
  const line = (level: string) => (fields: LogFields, message: string) => {
    const rest = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${readable(value)}`)
    const time = new Date(systemClock.wallClock()).toISOString().slice(11, 23)
    console.error(`${colors.dim(time)} ${level} ${message} ${colors.dim(rest.join(' '))}`)
  }
  return {
    debug: () => undefined,
    info: line(colors.green('info')),
    warn: line(colors.yellow('warn')),
    error: line(colors.red('error')),
  }
}

function readable(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(`${value.name}: ${value.message}`)
  if (typeof value === 'string') return /^[\w.:-]+$/.test(value) ? value : JSON.stringify(value)
  try {
    return JSON.stringify(value)
  } catch {
    return String(value)
  }
}
