import { printChecks, printTable, seconds, type Check } from '../support/print.ts'
import { tenants } from './questions.ts'
import type { Report, RunOutcome } from './report.ts'

export function printReport(report: Report, checks: readonly Check[]): void {
  const { runs, steps, recovery, calls } = report
  const count = (is: (call: Report['calls'][number]) => boolean) => calls.filter(is).length

  printTable(
    'Questions, by the database',
    tenants.map(({ name }) => {
      const own = runs.filter((run) => run.tenant === name)
      const done = own.filter((run) => run.state === 'done')
      return [name, own.length, `${done.length} answered, the last began after ${seconds(lastWait(own, runs))}`]
    }),
  )
  printTable('Steps', [
    ['run and kept', steps.ran],
    ['recalled', steps.recalled, `by ${steps.laterClaims} claims that were not their run's first`],
  ])
  printTable('The model, by its own count', [
    ['calls', calls.length],
    ['  answered', count((call) => call.status === 200 && call.end === 'answered')],
    ['  answered 429', count((call) => call.status === 429), 'snoozed: not counted as an attempt'],
    ['  cut by the kill', count((call) => call.end === 'cut'), 'asked again by the other worker'],
  ])
  if (recovery) {
    printTable('Recovery, by the database', [
      ['runs held at the kill', recovery.heldRuns],
      ['taken over', recovery.takenOver],
      ['first after', seconds(recovery.firstMs), `last after ${seconds(recovery.lastMs)}`],
    ])
  }
  printChecks(checks)
}

/** From the first begin of all to the last of these. */
function lastWait(own: readonly RunOutcome[], all: readonly RunOutcome[]): number {
  const times = (runs: readonly RunOutcome[]) => runs.map((run) => run.firstBeganAt.getTime())
  return Math.max(...times(own)) - Math.min(...times(all))
}
