import { createHash } from 'node:crypto'
import type { Clock } from './clock.ts'

interface Last {
  ms: number
  counter: number
}

// One per clock, and a process has one clock; a test's own clock leaves the process's ids alone.
const lastByClock = new WeakMap<Clock, Last>()

const counterEnd = 2 ** 12
const counterSeedEnd = 2 ** 11

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * A time-ordered id (RFC 9562, method 1: rand_a is a counter seeded at random in its lower half). Each is greater than
 * the one before, even within a millisecond or when the wall clock is set back; 62 bits stay random.
 */
export function uuidv7(clock: Clock): string {
  const bytes = clock.randomBytes(10)
  const { ms, counter } = advance(clock, (((bytes[8] ?? 0) << 8) | (bytes[9] ?? 0)) % counterSeedEnd)
  const time = ms.toString(16).padStart(12, '0')
  const variant = (((bytes[0] ?? 0) & 0x3f) | 0x80).toString(16)
  const tail = Array.from(bytes.subarray(1, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const randA = counter.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randA}-${variant}${tail.slice(0, 2)}-${tail.slice(2)}`
}

/** An id that is random but for its version (RFC 9562): it tells nothing of when it was made. */
export function uuidv4(clock: Clock): string {
  const bytes = Buffer.from(clock.randomBytes(16))
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/**
 * The id of what a run makes, the same whenever it makes it (RFC 9562, version 8): its time is that of the run's own id, so
 * that lists in the order of ids keep it beside its maker, and the rest follows from `parts`.
 */
export function derivedId(run: string, ...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([run, ...parts]))
    .digest('hex')
  const variant = ((Number.parseInt(hash.slice(3, 5), 16) & 0x3f) | 0x80).toString(16)
  return `${run.slice(0, 14)}8${hash.slice(0, 3)}-${variant}${hash.slice(5, 7)}-${hash.slice(7, 19)}`
}

/** Whether Postgres would take it as a uuid in its usual form, of whatever version. */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuidPattern.test(value)
}

function advance(clock: Clock, seed: number): Last {
  const now = Math.max(0, Math.floor(clock.wallClock()))
  const last = lastByClock.get(clock)
  const next = last === undefined || now > last.ms ? { ms: now, counter: seed } : following(last, seed)
  lastByClock.set(clock, next)
  return next
}

// A full counter borrows the next millisecond instead of waiting for it.
function following({ ms, counter }: Last, seed: number): Last {
  return counter + 1 < counterEnd ? { ms, counter: counter + 1 } : { ms: ms + 1, counter: seed }
}
