import { listed, type Check } from '../support/print.ts'
import type { Ledger } from './payment-server.ts'
import type { OrderOutcome, Report } from './report.ts'

/** What the example must have shown. One claim that does not hold makes it exit with 1. */
export function judge({ orders, steps, recovery, wrongStock, ledger }: Report): Check[] {
  const twice = calledTwiceAcrossTheKill(ledger)
  const astray = orders.filter((order) => !isChargedOnceOrFailed(order, ledger)).map((order) => order.id)
  return [
    {
      holds: steps.recalled > 0,
      claim: 'Finished steps were recalled, not run again',
      found: `${steps.recalled} steps`,
    },
    {
      holds: twice.length > 0,
      claim: 'Two calls and one charge, where the kill cut off the answer',
      found: listed(twice) || 'no such order',
    },
    {
      holds: orders.length > 0 && astray.length === 0,
      claim: 'Every order has exactly one charge, or a named failure and no charge',
      found: astray.length > 0 ? `not so for ${listed(astray)}` : `${orders.length} orders`,
    },
    {
      holds: wrongStock.length === 0,
      claim: 'What left the shelf is what was confirmed',
      found: wrongStock.length > 0 ? `not so for ${listed(wrongStock)}` : 'every product',
    },
    {
      holds: recovery !== undefined && recovery.takenOver === recovery.heldRuns,
      claim: 'The other worker took over every run of the killed one',
      found: recovery ? `${recovery.takenOver} of ${recovery.heldRuns} runs` : 'no worker was killed',
    },
  ]
}

/** Charged by a call whose caller died before the answer, then answered from the ledger by a later call. */
function calledTwiceAcrossTheKill({ calls, charges }: Ledger): string[] {
  const cut = calls.filter((call) => call.effect === 'charged' && call.end === 'cut')
  return cut
    .map((call) => call.orderId)
    .filter((id) => calls.some((call) => call.orderId === id && call.effect === 'repeated' && call.end === 'answered'))
    .filter((id) => charges.filter((charge) => charge.orderId === id).length === 1)
}

function isChargedOnceOrFailed(order: OrderOutcome, { charges }: Ledger): boolean {
  const own = charges.filter((charge) => charge.orderId === order.id)
  if (order.state === 'failed') return own.length === 0 && Boolean(order.failure && order.reason)
  return (
    order.state === 'done' &&
    order.confirmation !== null &&
    own.length === 1 &&
    own[0]?.amountCents === order.amountCents &&
    own[0].receipt === order.receipt
  )
}
