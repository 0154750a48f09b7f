import { formatDuration } from '../model/duration.ts'
import { printable } from './show.ts'

/** A schedule as the database tells it: what it says, where it stands, and what came of it. */
export interface ShownSchedule {
  readonly workflow: string
  readonly cron: string | null
  readonly zone: string
  readonly everyMs: number | null
  readonly catchUp: string
  readonly overlap: string
  readonly next: string | null
  readonly queued: string | null
  readonly last: { readonly at: string; readonly run: string; readonly state: string | null } | null
  readonly paused: { readonly since: string; readonly by: string | null; readonly reason: string | null } | null
  readonly started: number
  readonly skipped: number
  readonly failed: number
  readonly failure: { readonly at: string; readonly error: string; readonly isTriedAgain: boolean } | null
}

/** One schedule a paragraph, one thing a line. */
export function printSchedules(schedules: readonly ShownSchedule[]): void {
  if (schedules.length === 0) return console.error('No workflow has a schedule.')
  for (const each of schedules) {
    console.log(printable(`${each.workflow}: ${timesOf(each)}`))
    for (const line of linesOf(each)) console.log(printable(`  ${line}`))
  }
}

function timesOf({ cron, zone, everyMs, catchUp, overlap }: ShownSchedule): string {
  const times = everyMs === null ? `${cron} in ${zone}` : `every ${formatDuration(everyMs)}`
  return `${times}, catch up ${catchUp}, overlap ${overlap}`
}

function linesOf({ next, queued, last, paused, started, skipped, failed, failure }: ShownSchedule): string[] {
  const why = paused?.reason ? `: ${paused.reason}` : ''
  return [
    paused && `paused by ${paused.by ?? 'somebody'} since ${paused.since}${why}`,
    next && `next at ${next}`,
    queued && `queued at ${queued}, until the last run has ended`,
    last && `last for ${last.at}: ${last.run} ${last.state ?? 'was removed'}`,
    `${started} started, ${skipped} skipped, ${failed} failed`,
    failure && `${failure.isTriedAgain ? 'being tried again' : 'failed last'}, at ${failure.at}: ${failure.error}`,
  ].filter((line) => line !== null)
}
