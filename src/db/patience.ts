import type { Clock } from '../model/clock.ts'
import { isConnectionLoss, isShortage } from './database-errors.ts'

export interface Patience {
  readonly clock: Clock
  /** Once it aborts, the next loss is the last. */
  readonly until: AbortSignal
  readonly onLoss?: ((error: unknown) => void) | undefined
  /** What else the work is done again for. */
  readonly also?: (error: unknown) => boolean
}

const firstWaitMs = 50
const longestWaitMs = 1_000

/** Does the work again for as long as it meets connection loss or a shortage. Only for what may be done twice. */
export async function patiently<T>(patience: Patience, work: (loss: number) => Promise<T>): Promise<T> {
  const { clock, until, onLoss, also } = patience
  for (let loss = 0; ; loss += 1) {
    try {
      return await work(loss)
    } catch (error) {
      if (!(isLoss(error) || also?.(error)) || until.aborted) throw error
      onLoss?.(error)
      await clock.sleep(Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(loss, 10)), until)
    }
  }
}

/** Bare, or as it is explained to users. */
function isLoss(error: unknown): boolean {
  const { cause } = error instanceof Error ? error : {}
  return [error, cause].some((each) => isConnectionLoss(each) || isShortage(each))
}
