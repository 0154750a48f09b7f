import { Batcher } from '../db/batcher.ts'
import { settleRuns, type SettleDetails, type SettleItem } from '../db/claim-calls.ts'
import type { Database } from '../db/database.ts'
import { patiently, type Patience } from '../db/patience.ts'
import type { Claim } from '../model/claim.ts'
import type { LeaseLostReason } from '../model/errors.ts'
import type { Ending, Outcome } from '../model/outcome.ts'

export type Settled = Exclude<Outcome, { kind: 'lost' }>
export type Settling = Ending & { readonly outcome: Settled }

/** Ends claims, many in one call. A settle that meets connection loss is sent again: the record answers it as before. */
export class Settler {
  readonly #batcher: Batcher<SettleItem, LeaseLostReason | undefined>

  constructor(database: Database, workerId: string, patience: Patience) {
    this.#batcher = new Batcher({
      clock: patience.clock,
      until: patience.until,
      sizeOf: (item) => (item.output?.length ?? 0) + (item.details ? 4_096 : 0) + 300,
      flush: (items) =>
        patiently(patience, async () => {
          const lost = await settleRuns(database, workerId, items)
          const places = Array.from<LeaseLostReason | undefined>({ length: items.length })
          for (const { n, lost: reason } of lost) places[n - 1] = reason
          return places
        }),
    })
  }

  /** Answers why the claim had been lost, if it had. */
  settle(claim: Pick<Claim, 'id' | 'token'>, ending: Settling): Promise<LeaseLostReason | undefined> {
    const { outcome, recalled, failures, tries } = ending
    const details = detailsOf(outcome)
    const isPlain = details === undefined && failures.length === 0 && tries.length === 0
    return this.#batcher.add({
      id: claim.id,
      token: claim.token,
      outcome: outcome.kind,
      recalled,
      output: outcome.kind === 'done' ? outcome.output.json : undefined,
      output_types: outcome.kind === 'done' ? outcome.output.types : undefined,
      details: isPlain ? undefined : { ...details, memos: memosOf(failures), tries: triesOf(tries) },
    })
  }
}

function memosOf(failures: Ending['failures']): SettleDetails['memos'] {
  if (failures.length === 0) return undefined
  return failures.map(({ durationMs, ...memo }) => ({ ...memo, duration_ms: durationMs }))
}

function triesOf(tries: Ending['tries']): SettleDetails['tries'] {
  return tries.length === 0 ? undefined : tries.map(({ retryMs, ...tried }) => ({ ...tried, retry_ms: retryMs }))
}

function detailsOf(outcome: Settled): SettleDetails | undefined {
  return details[outcome.kind](outcome as never)
}

const details: {
  readonly [K in Settled['kind']]: (outcome: Extract<Settled, { kind: K }>) => SettleDetails | undefined
} = {
  done: () => undefined,
  retry: ({ delayMs, reason, error, ifLast }) => ({ delay_ms: delayMs, reason, error, failure: ifLast }),
  snooze: ({ delayMs, reason }) => ({ delay_ms: delayMs, reason }),
  failed: ({ failure, reason, error }) => ({ failure, reason, error }),
  suspended: ({ wakeMs }) => ({ delay_ms: wakeMs }),
  released: () => ({ delay_ms: 0 }),
}
