import { defineWorkflow } from '../../src/index.ts'
import { findFault, orderSchema } from './order.ts'
import { requestCharge } from './payment-client.ts'
import { confirmOrder, reserveStock } from './shop.ts'

/**
 * One order, from the moment it is recorded to its confirmation. Kill the process anywhere in here: whichever worker
 * goes on gets the answers of the finished steps back and runs only what is left.
 */
export const processOrder = defineWorkflow({
  name: 'process order',
  input: orderSchema,
  retry: { initial: '300ms' },
  handler: async (order, run) => {
    const fault = await run.step('validate', () => findFault(order) ?? null)
    if (fault) return run.fail(fault)

    const isReserved = await run.transaction('reserve stock', (tx) => reserveStock(tx, order))
    if (!isReserved) return run.fail(`out of stock: ${order.product}`)

    // Busy: come back later, not counted as an attempt. Broken: requestCharge throws, and the run is tried again.
    // Asking twice is safe, because the idempotency key is the same each time, whichever process asks.
    const receipt = await run.step('charge', async (step) => {
      const answer = await requestCharge(order, step)
      return 'receipt' in answer ? answer.receipt : run.snooze(answer.retryAfter, 'the payment server is busy')
    })

    const confirmation = await run.transaction('confirm', (tx) => confirmOrder(tx, order, receipt))
    return { receipt, confirmation }
  },
})
