import type { ClaimRow } from './claim-rows.ts'
import type { Database } from './database.ts'

/** The typed calls of claims by hand; the functions are those that a worker in another language calls. */

export type ReservedRow = Omit<
  ClaimRow,
  'token' | 'deadline_ms' | 'memos' | 'tries' | 'is_limited' | 'rare' | 'waited_ms' | 'age_ms' | 'past'
> & {
  readonly token: number
}

export interface Reservation {
  readonly worker: string
  readonly workflows: readonly string[]
  readonly max: number
  readonly leaseMs: number | undefined
}

export async function reserve(
  database: Database,
  { worker, workflows, max, leaseMs }: Reservation,
): Promise<readonly ReservedRow[]> {
  return await database.call<ReservedRow>('reserve_runs', [worker, workflows, max, leaseMs ?? null])
}

export interface Claimed {
  readonly id: string
  readonly token: number
}

export async function ack(
  database: Database,
  { id, token }: Claimed,
  output: { readonly json: string; readonly types: string | null },
): Promise<void> {
  await database.call('ack', [id, token, output.json, output.types])
}

export async function nack(
  database: Database,
  { id, token }: Claimed,
  afterMs: number | undefined,
  isPermanent: boolean,
  reason: string | undefined,
): Promise<void> {
  await database.call('nack', [id, token, interval(afterMs), isPermanent, reason ?? null])
}

function interval(ms: number | undefined): string | null {
  return ms === undefined ? null : `${ms} ms`
}
