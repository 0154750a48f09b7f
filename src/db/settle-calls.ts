import type { Claim } from '../model/claim.ts'
import type { LeaseLostReason } from '../model/errors.ts'
import type { StartItem } from '../model/start-item.ts'
import { jsonArray, plainArray, textArray } from './arrays.ts'
import { idsOf } from './claim-calls.ts'
import { readClaims, type ClaimRow } from './claim-rows.ts'
import type { Database } from './database.ts'

/** The call that ends claims, many runs' in one, and may begin the next ones of their lines. */

export interface SettleItem {
  readonly id: string
  readonly token: number
  readonly outcome: string
  readonly recalled: number
  readonly output?: string | undefined
  readonly output_types?: string | null | undefined
  /** Whatever else there is to say; most claims that are done have nothing. */
  readonly details?: SettleDetails | undefined
  /** It asks for the next run of its line, under such a lease. */
  readonly lease_ms?: number | undefined
  /** The traceparent of its span. */
  readonly trace?: string | undefined
}

export interface SettleDetails {
  readonly delay_ms?: number | undefined
  readonly failure?: string | undefined
  readonly reason?: string | undefined
  readonly error?: unknown
  readonly next?: StartItem | undefined
  readonly memos?: readonly object[] | undefined
  readonly tries?: readonly object[] | undefined
}

export function settleValues(workerId: string, items: readonly SettleItem[]): unknown[] {
  return [
    workerId,
    idsOf(items),
    plainArray(items, (item) => item.token),
    plainArray(items, (item) => item.outcome),
    plainArray(items, (item) => item.recalled),
    jsonArray(items, (item) => item.output),
    textArray(items, (item) => item.output_types),
    jsonArray(items, ({ details }) => details && JSON.stringify(details)),
    plainArray(items, (item) => item.lease_ms),
    plainArray(items, (item) => item.trace),
  ]
}

export interface Settlement {
  /** Of the items, by their places: why their claims had been lost, those that had. */
  readonly lost: readonly (LeaseLostReason | undefined)[]
  /** The claims handed over to those that asked. */
  readonly claims: readonly Claim[]
}

type SettleRow = ClaimRow & { readonly n: number | null; readonly lost: LeaseLostReason }

export async function settleRuns(
  database: Database,
  workerId: string,
  items: readonly SettleItem[],
): Promise<Settlement> {
  const rows = await database.call<SettleRow>('settle_runs', settleValues(workerId, items))
  const lost = Array.from<LeaseLostReason | undefined>({ length: items.length })
  for (const row of rows) if (row.n !== null) lost[row.n - 1] = row.lost
  return { lost, claims: readClaims(rows.filter((row) => row.n === null)).claims }
}
