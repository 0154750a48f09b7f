import { Batcher } from '../db/batcher.ts'
import { settleRuns, type SettleItem } from '../db/calls.ts'
import type { Database } from '../db/database.ts'
import { patiently, type Patience } from '../db/patience.ts'
import type { Claim } from '../model/claim.ts'
import type { LeaseLostReason } from '../model/errors.ts'
import type { Ending, Outcome } from '../model/outcome.ts'

type Settled = Exclude<Outcome, { kind: 'lost' }>

/** Ends claims, many in one call. A settle that meets connection loss is sent again: the record answers it as before. */
export class Settler {
  readonly #batcher: Batcher<SettleItem, LeaseLostReason | undefined>

  constructor(database: Database, workerId: string, patience: Patience) {
    this.#batcher = new Batcher({
      clock: patience.clock,
      until: patience.until,
      sizeOf: (item) => (item.output?.length ?? 0) + (item.error ? 4_096 : 0) + 300,
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
  settle(claim: Claim, outcome: Settled, ending: Ending): Promise<LeaseLostReason | undefined> {
    const { recalled, failures, tries } = ending
    return this.#batcher.add({
      id: claim.id,
      token: claim.token,
      outcome: outcome.kind,
      recalled,
      memos:
        failures.length === 0
          ? undefined
          : failures.map(({ durationMs, ...memo }) => ({ ...memo, duration_ms: durationMs })),
      tries: tries.length === 0 ? undefined : tries.map(({ retryMs, ...tried }) => ({ ...tried, retry_ms: retryMs })),
      ...fieldsOf(outcome),
    })
  }
}

type Fields = Pick<SettleItem, 'delay_ms' | 'output' | 'output_types' | 'failure' | 'reason' | 'error'>

function fieldsOf(outcome: Settled): Fields {
  return fields[outcome.kind](outcome as never)
}

const fields: { readonly [K in Settled['kind']]: (outcome: Extract<Settled, { kind: K }>) => Fields } = {
  done: ({ output }) => ({ output: output.json, output_types: output.types }),
  retry: ({ delayMs, reason, error, ifLast }) => ({ delay_ms: delayMs, reason, error, failure: ifLast }),
  snooze: ({ delayMs, reason }) => ({ delay_ms: delayMs, reason }),
  failed: ({ failure, reason, error }) => ({ failure, reason, error }),
  suspended: ({ wakeMs }) => ({ delay_ms: wakeMs }),
  released: () => ({ delay_ms: 0 }),
}
