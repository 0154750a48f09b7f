import { claimValues, keepValues, lineValues, type KeepItem, type LineTicket } from '../../src/db/claim-calls.ts'
import { settleValues, type SettleItem } from '../../src/db/settle-calls.ts'
import { systemClock } from '../../src/model/clock.ts'
import { uuidv4, uuidv7 } from '../../src/model/id.ts'
import type { Connection } from './connections.ts'

export const newId = (): string => uuidv7(systemClock)

/** A worker's id with nothing behind it. */
export const newWorker = (): string => uuidv4(systemClock)

export interface StartItemOverrides {
  readonly id?: string
  readonly workflow?: string
  readonly key?: string
  readonly group_key?: string
  readonly max_attempts?: number
  readonly priority?: number
  readonly delay_ms?: number
  readonly input?: string
  readonly dedupe_ms?: number
}

/** An item for start_runs, as a client makes it. */
export function startItem(overrides: StartItemOverrides = {}): StartItemOverrides & { readonly id: string } {
  return {
    id: newId(),
    workflow: 'sample',
    priority: 0,
    max_attempts: 10,
    input: 'null',
    dedupe_ms: 86_400_000,
    ...overrides,
  }
}

/** Ids of runs that wait for a worker, rising. */
export async function waitingRuns(connection: Connection, count: number): Promise<string[]> {
  const items = Array.from({ length: count }, () => startItem())
  await connection.call('start_runs', items)
  return items.map((item) => item.id).toSorted()
}

/** Ids of runs that `worker` has claimed with token 1. */
export async function runningRuns(connection: Connection, worker: string, count: number): Promise<string[]> {
  const ids = await waitingRuns(connection, count)
  await claim(connection, worker, ids)
  return ids
}

export interface ClaimedRow {
  readonly id: string
  readonly group_key: string | null
  readonly token: number
  readonly attempt: number
}

export async function claim(connection: Connection, worker: string, ids: readonly string[]): Promise<ClaimedRow[]> {
  const items = ids.map((id) => ({ id, lease_ms: 30_000 }))
  return (await connection.call('claim_runs', ...claimValues(worker, items, false))) as unknown as ClaimedRow[]
}

/** Tickets of runs, as lines are given them. */
export async function claimFor(
  connection: Connection,
  worker: string,
  tickets: readonly Omit<LineTicket, 'lease_ms' | 'workflow'>[],
  workflow = 'sample',
): Promise<ClaimedRow[]> {
  const named = tickets.map((ticket) => ({ ...ticket, workflow, lease_ms: 30_000 }))
  return (await connection.call('claim_lines', ...lineValues(worker, named))) as unknown as ClaimedRow[]
}

export async function keep(connection: Connection, items: readonly KeepItem[], isOnce = false): Promise<unknown[]> {
  return await connection.call('keep_steps', ...keepValues(items, isOnce))
}

/** An item for open_waits. */
export interface WaitGiven {
  readonly id: string
  readonly token: number
  readonly key?: string
  readonly kind?: 'sleep' | 'signal' | 'call' | 'park' | 'start'
  readonly name?: string
  readonly delay_ms?: number
  readonly child?: object
  readonly seq?: number
}

export interface WaitRow {
  readonly lost: string | null
  readonly kind: string | null
  readonly value: string | null
  readonly wait_ms: number | null
}

/** Opens waits, by default for the signal `paid`. */
export async function openWaits(connection: Connection, items: readonly WaitGiven[]): Promise<WaitRow[]> {
  const given = items.map((item) => ({ key: 'paid', kind: 'signal', name: 'paid', ordinal: 1, seq: 1, ...item }))
  return (await connection.call('open_waits', given)) as unknown as WaitRow[]
}

export type Ended = Omit<SettleItem, 'recalled'>

export async function settle(connection: Connection, worker: string, items: readonly Ended[]): Promise<unknown[]> {
  const values = settleValues(
    worker,
    items.map((item) => ({ ...item, recalled: 0 })),
  )
  return await connection.call('settle_runs', ...values)
}

/** As an array literal of uuids. */
export function pgArray(ids: readonly string[]): string {
  return `{${ids.join(',')}}`
}

/** An item for keep_steps. */
export function memo(id: string, token: number, overrides: Partial<KeepItem> = {}): KeepItem {
  return {
    id,
    token,
    key: 'step',
    kind: 'answer',
    value: '1',
    types: null,
    seq: 1,
    ordinal: 1,
    tries: 1,
    duration_ms: 1,
    args: undefined,
    ...overrides,
  }
}
