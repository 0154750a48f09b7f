import { Batcher } from '../db/batcher.ts'
import { traceClaims, type TracedItem } from '../db/claim-calls.ts'
import type { Database } from '../db/database.ts'
import type { Claim } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'

/** A claim that has not ended by then is noted. Most have, on a busy worker too, and bring their trace with their settle. */
const noteAfterMs = 250

const ignore = (): void => undefined

/**
 * Notes the spans of claims that take a while, so that one whose process dies is found in its trace. A note that fails is
 * missed by nobody but whoever looks for it: the claim's settle brings it again.
 */
export class TraceNotes {
  readonly #clock: Clock
  readonly #batcher: Batcher<TracedItem, undefined>

  constructor(database: Database, clock: Clock) {
    this.#clock = clock
    this.#batcher = new Batcher({
      clock,
      inFlight: 1,
      flush: async (items) => {
        await traceClaims(database, items)
        return items.map(() => undefined)
      },
    })
  }

  /** Answers what to call when the claim has ended. */
  note({ id, token }: Claim, traceparent: string | undefined): () => void {
    if (traceparent === undefined) return ignore
    const add = (): void => void this.#batcher.add({ id, token, traceparent }).catch(ignore)
    const timer = this.#clock.after(noteAfterMs, add, true)
    return () => timer.cancel()
  }
}
