import { trace } from '@opentelemetry/api'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { ordered, tell } from '../support/tell.ts'

class CardRefusedError extends Error {
  override readonly name = 'CardRefusedError'
}

/** Fails in its first attempt, is held up in its second until it is told to go on, and goes through in its third. */
export const order = defineWorkflow({
  name: 'order',
  lease: '1.5s',
  retry: { initial: '1h', jitter: 0 },
  maxAttempts: 5,
  handler: async (_, run: Run) => {
    tell('began', run)
    await run.step('reserve', () =>
      trace.getTracer('shop').startActiveSpan('GET /stock', (span) => {
        span.end()
        return 'reserved'
      }),
    )
    await run.now()
    await run.step('charge', async () => {
      if (run.attempt === 1) throw new CardRefusedError('The card was refused.')
      if (run.attempt === 2) {
        tell('charging', run)
        await ordered('go on')
      }
      return 'charged'
    })
    return 'sent'
  },
})
