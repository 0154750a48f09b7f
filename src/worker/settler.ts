import { Batcher, type BatcherOptions } from '../db/batcher.ts'
import { settleRuns, type SettleDetails, type SettleItem } from '../db/settle-calls.ts'
import type { Database } from '../db/database.ts'
import { patiently, type Patience } from '../db/patience.ts'
import type { Claim } from '../model/claim.ts'
import type { LeaseLostReason } from '../model/errors.ts'
import type { Ending, Outcome } from '../model/outcome.ts'
import type { Taken } from './claimer.ts'

export type Settled = Exclude<Outcome, { kind: 'lost' }>
export type Settling = Ending & { readonly outcome: Settled }

/** What became of a settle. */
export interface SettleResult {
  /** Why the claim had been lost, if it had. */
  readonly lost: LeaseLostReason | undefined
  /** The next run of a line, if it was asked for and there was one. */
  readonly next: Taken | undefined
}

/**
 * Ends claims, many in one call, those of limited workflows apart: they wait for their lines. A settle that meets
 * connection loss is sent again: the record answers it as before.
 */
export class Settler {
  readonly #batcher: Batcher<SettleItem, SettleResult>
  readonly #limitedBatcher: Batcher<SettleItem, SettleResult>

  constructor(
    database: Database,
    workerId: string,
    patience: Patience,
    onFlush?: (call: string, size: number) => void,
  ) {
    const options: BatcherOptions<SettleItem, SettleResult> = {
      onFlush: (size) => onFlush?.('settle', size),
      clock: patience.clock,
      until: patience.until,
      sizeOf: (item) => (item.output?.length ?? 0) + (item.details ? 4_096 : 0) + 300,
      flush: (items) =>
        patiently(patience, async () => {
          const sentAt = patience.clock.monotonic()
          const { lost, claims } = await settleRuns(database, workerId, items)
          const next = claims.values()
          return items.map((item, place) => {
            const claim = item.lease_ms === undefined ? undefined : next.next().value
            return { lost: lost[place], next: claim && { claim, sentAt } }
          })
        }),
    }
    this.#batcher = new Batcher(options)
    // As with claims of lines, a second call at once would mostly wait for the first.
    this.#limitedBatcher = new Batcher({ ...options, inFlight: 1 })
  }

  /** `leaseMs`: it asks for the next run of its line, under such a lease. `trace`: the traceparent of its span. */
  settle(
    claim: Pick<Claim, 'id' | 'token'> & { readonly isLimited?: boolean },
    ending: Settling,
    leaseMs?: number,
    trace?: string,
  ): Promise<SettleResult> {
    const { outcome, recalled, failures, tries } = ending
    const details = detailsOf(outcome)
    const isPlain = details === undefined && failures.length === 0 && tries.length === 0
    const batcher = claim.isLimited ? this.#limitedBatcher : this.#batcher
    return batcher.add({
      id: claim.id,
      token: claim.token,
      outcome: outcome.kind,
      recalled,
      output: outcome.kind === 'done' ? outcome.output.json : undefined,
      output_types: outcome.kind === 'done' ? outcome.output.types : undefined,
      details: isPlain ? undefined : { ...details, memos: memosOf(failures), tries: triesOf(tries) },
      lease_ms: leaseMs,
      trace,
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
  continued: ({ next }) => ({ next }),
  retry: ({ delayMs, reason, error, ifLast }) => ({ delay_ms: delayMs, reason, error, failure: ifLast }),
  snooze: ({ delayMs, reason }) => ({ delay_ms: delayMs, reason }),
  failed: ({ failure, reason, error }) => ({ failure, reason, error }),
  suspended: ({ wakeMs }) => (wakeMs === undefined ? undefined : { delay_ms: wakeMs }),
  released: () => ({ delay_ms: 0 }),
}
