import { Cron } from 'croner'
import type { ResolvedSchedule } from '../model/workflow.ts'

/** The instants of a schedule, in milliseconds since 1970. No clock is read here. */

/** When a schedule has its instants: at the times of `cron` in `zone`, or at the multiples of `everyMs` since 1970. */
export type Timing = Pick<ResolvedSchedule, 'cron' | 'zone' | 'everyMs'>

/** An instant that nobody looked at for longer is a missed one. */
const missedAfterMs = 10_000

/** What stands for the next instant where there is none. */
const never: number = Date.parse('9999-12-31T00:00:00Z')

/** The first instant after `afterMs`. */
export function nextInstant({ cron, zone, everyMs }: Timing, afterMs: number): number {
  if (everyMs !== undefined) return (Math.floor(afterMs / everyMs) + 1) * everyMs
  return readCron(cron, zone).nextRun(new Date(afterMs))?.getTime() ?? never
}

/** The first `most` instants after `afterMs`, up to and including `untilMs`. */
export function instantsBetween(timing: Timing, afterMs: number, untilMs: number, most: number): number[] {
  const instants: number[] = []
  for (let at = nextInstant(timing, afterMs); at <= untilMs && instants.length < most; at = nextInstant(timing, at)) {
    instants.push(at)
  }
  return instants
}

export interface Wanted {
  readonly instants: readonly number[]
  /** Up to there that decides: `untilMs`, or the last of `most` instants. */
  readonly untilMs: number
}

/**
 * Of the instants after `afterMs`, up to and including `untilMs`, those for which a run is wanted, at most `most`: those
 * on time, and of the missed ones what `catchUp` says. Under `one` a run that is on time makes up for missed ones too.
 */
export function wantedInstants(
  schedule: Timing & Pick<ResolvedSchedule, 'catchUp'>,
  afterMs: number,
  untilMs: number,
  most: number,
): Wanted {
  const { catchUp } = schedule
  const fromMs = catchUp === 'all' ? afterMs : Math.max(afterMs, untilMs - missedAfterMs - 1)
  const instants = instantsBetween(schedule, fromMs, untilMs, most)
  if (instants.length === most) return { instants, untilMs: instants.at(-1) ?? untilMs }
  if (instants.length > 0 || catchUp !== 'one') return { instants, untilMs }
  const last = lastInstant(schedule, untilMs)
  return { instants: last > afterMs ? [last] : [], untilMs }
}

/** The last instant up to and including `untilMs`. */
function lastInstant({ cron, zone, everyMs }: Timing, untilMs: number): number {
  if (everyMs !== undefined) return Math.floor(untilMs / everyMs) * everyMs
  const [last] = readCron(cron, zone).previousRuns(1, new Date(untilMs + 1))
  return last?.getTime() ?? -Infinity
}

/**
 * Throws for what is no expression, or one whose time never comes. A time that a change of the clocks skips comes at the
 * end of the gap, and one that they repeat comes once, unless the expression names every hour or minute of a stretch by
 * `*` or a step: that goes by what the clock shows.
 */
export function readCron(cron: string | undefined, zone: string): Cron {
  return new Cron(cron ?? '', {
    timezone: zone,
    mode: '5-or-6-parts',
    // The default takes lists and ranges for steps, so `30 2,14 * * *` would skip a day in spring.
    fixedTimeRule: 'no-wildcard',
    paused: true,
  })
}
