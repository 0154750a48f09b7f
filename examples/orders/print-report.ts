import { listed, printChecks, printTable, seconds, type Check, type Line } from '../support/print.ts'
import type { OrderOutcome, Report } from './report.ts'

export function printReport(report: Report, checks: readonly Check[]): void {
  const { orders, steps, recovery, ledger } = report
  const failed = orders.filter((order) => order.state === 'failed')
  const calls = (is: (call: Report['ledger']['calls'][number]) => boolean) => ledger.calls.filter(is).length

  printTable('Orders', [
    ['recorded', orders.length],
    ['done', orders.filter((order) => order.state === 'done').length],
    ['failed', failed.length],
    ...failuresByReason(failed),
  ])
  printTable('Steps', [
    ['run and kept', steps.ran],
    ['recalled', steps.recalled, `by ${steps.laterClaims} claims that were not their run's first`],
  ])
  printTable('Payments, by the ledger', [
    ['calls', ledger.calls.length],
    ['  answered 429', calls((call) => call.status === 429), 'snoozed: not counted as an attempt'],
    ['  answered 500', calls((call) => call.status === 500), 'tried again, counted'],
    ['  cut by the kill', calls((call) => call.end === 'cut'), 'the worker died waiting for the answer'],
    ['  repeated', calls((call) => call.effect === 'repeated'), 'known Idempotency-Key: answered, not charged'],
    ['charges', ledger.charges.length],
  ])
  if (recovery) {
    printTable('Recovery, by the database', [
      ['runs held at the kill', recovery.heldRuns, `the one that chose the moment: ${recovery.killedWhileCharging}`],
      ['taken over', recovery.takenOver],
      ['first after', seconds(recovery.firstMs), `last after ${seconds(recovery.lastMs)}`],
    ])
  }
  printChecks(checks)
}

function failuresByReason(failed: readonly OrderOutcome[]): Line[] {
  const groups = new Map<string, OrderOutcome[]>()
  for (const order of failed) {
    const name = `${order.failure} ${order.reason}`
    groups.set(name, [...(groups.get(name) ?? []), order])
  }
  return [...groups.values()].map((group) => [
    `  ${group[0]?.failure}`,
    group.length,
    `${group[0]?.reason} (${listed(group.map((order) => order.id))})`,
  ])
}
