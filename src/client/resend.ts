import { patiently } from '../db/patience.ts'
import type { Clock } from '../model/clock.ts'

/** How often what met connection loss is sent again. */
const mostLosses = 5

/** Sends a call again when its connection is lost, a few times over some 1.5 s. Only for what may be done twice. */
export async function resend<T>(clock: Clock, work: () => Promise<T>, onLoss?: (error: unknown) => void): Promise<T> {
  const enough = new AbortController()
  return await patiently({ clock, until: enough.signal, onLoss }, async (loss) => {
    if (loss === mostLosses) enough.abort()
    return await work()
  })
}
