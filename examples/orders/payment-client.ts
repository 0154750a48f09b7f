import type { Step } from '../../src/index.ts'
import type { Order } from './order.ts'

export type ChargeAnswer = { receipt: string } | { retryAfter: `${number}s` }

/** Asks the payment server for one charge. Throws when it is broken, so that the run is tried again. */
export async function requestCharge(order: Order, step: Step): Promise<ChargeAnswer> {
  const response = await fetch(`${process.env.PAYMENTS_URL}/charges`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': step.idempotencyKey,
      'x-worker': process.env.WORKER_NAME ?? '',
    },
    body: JSON.stringify({ orderId: order.id, amountCents: order.amountCents }),
    signal: step.abortSignal,
  })
  if (response.status === 429) return { retryAfter: `${Number(response.headers.get('retry-after'))}s` }
  if (!response.ok) throw new Error(`the payment server answered ${response.status}`)
  return (await response.json()) as { receipt: string }
}
