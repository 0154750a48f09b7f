import { DurationError } from './errors.ts'

/** 100 years. Beyond it a number is a mistake (microseconds, a date), and timestamps would leave Postgres's range. */
export const longestDurationMs: number = 36_525 * 86_400_000

const units = ['w', 'd', 'h', 'm', 's', 'ms'] as const

const unitMs: Readonly<Record<(typeof units)[number], number>> = {
  w: 604_800_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
}

// Each unit at most once and in descending order, so that '5m1h' and '1m1m' are mistakes rather than sums.
const pattern = new RegExp(`^${units.map((unit) => `(?:(\\d{1,15}(?:\\.\\d{1,15})?)${unit})?`).join('')}$`)

/** Reads a duration in milliseconds. `field` names the option or argument in the DurationError it may throw. */
export function parseDuration(value: unknown, field: string): number {
  const ms = typeof value === 'string' ? readText(value) : value
  if (typeof ms !== 'number' || Number.isNaN(ms)) throw refusal(field, `is ${describe(value)}, which is no duration.`)
  if (ms < 0) throw refusal(field, `is negative (${ms} ms).`)
  if (ms > longestDurationMs) throw refusal(field, `is longer than 100 years (${describe(value)}).`)
  return ms === 0 ? 0 : ms
}

/** Shortest readable form, such as '1h30m', '1.5s' or '2w'; to the millisecond, below one second to the microsecond. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return `${ms}ms`
  if (ms < 0) return `-${formatDuration(-ms)}`
  const precise = toMicroseconds(ms)
  if (precise < unitMs.s) return `${precise}ms`
  let left = Math.round(ms)
  if (left % unitMs.w === 0) return `${left / unitMs.w}w`
  let text = ''
  for (const unit of ['d', 'h', 'm'] as const) {
    const count = Math.floor(left / unitMs[unit])
    if (count > 0) text += `${count}${unit}`
    left -= count * unitMs[unit]
  }
  return left > 0 ? `${text}${left / unitMs.s}s` : text
}

function readText(text: string): number {
  const parts = text === '' ? null : pattern.exec(text)
  if (!parts) return NaN
  return toMicroseconds(units.reduce((sum, unit, at) => sum + Number(parts[at + 1] ?? 0) * unitMs[unit], 0))
}

// '1.1s' is 1100 ms, not 1100.0000000000002.
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

function describe(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty string' : JSON.stringify(value.slice(0, 40))
  if (typeof value === 'number') return String(value)
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function refusal(field: string, what: string): DurationError {
  return new DurationError(`${field} ${what}`, {
    field,
    remedy: "Give milliseconds as a number >= 0, or text such as '250ms', '30s' or '1h30m' (units w d h m s ms).",
  })
}
