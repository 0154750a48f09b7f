import type pg from 'pg'
import { readBodyLog, type BodyLine } from '../support/body-log.ts'
import { readHistory, type HistoryEvent } from '../support/history.ts'

/** What is left of a suite when all is over: what the checker judges by. */

export interface AcknowledgedStart {
  readonly id: string
  readonly index: number
  readonly key: string | undefined
}

export interface FinalRun {
  readonly id: string
  readonly state: string
  readonly attempt: number
  readonly key: string | null
  readonly output: string | null
  readonly reason: string | null
}

export interface FinalMemo {
  readonly run: string
  readonly key: string
  readonly value: string
}

export interface ClaimRecord {
  readonly run: string
  readonly token: number
  readonly worker: string | null
  readonly beganAt: number
  readonly endedAt: number | null
  readonly outcome: string | null
  readonly reason?: string | null
  readonly error?: string | null
}

export interface Effect {
  readonly run: string
  readonly nonce: string
}

export interface Evidence {
  readonly starts: readonly AcknowledgedStart[]
  readonly runs: readonly FinalRun[]
  readonly memos: readonly FinalMemo[]
  readonly claims: readonly ClaimRecord[]
  readonly effects: readonly Effect[]
  readonly events: readonly HistoryEvent[]
  readonly bodies: readonly BodyLine[]
  /** Kind of fault -> how many were planned and how many happened. */
  readonly faults: Readonly<Record<string, { readonly planned: number; readonly done: number }>>
  /** Of each process that ended otherwise than the plan had it, how. */
  readonly exits: readonly string[]
  /** Where no process but these workers' ended: nobody else's runs may be charged an attempt. */
  readonly relieved?: readonly string[]
  /** Starts that were told of a conflict there cannot have been. */
  readonly falseConflicts: readonly string[]
}

type Gathered = Pick<Evidence, 'runs' | 'memos' | 'claims' | 'effects' | 'events' | 'bodies'>

/** Where `run.transaction` leaves its traces: any number of rows may be there for one run, so that a second one shows. */
export async function createEffects(pool: pg.Pool): Promise<void> {
  await pool.query('create table history.effects (run_id uuid not null, nonce text not null)')
}

export async function gather(pool: pg.Pool, bodyLogs: readonly string[]): Promise<Gathered> {
  const read = async <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> => (await pool.query<Row>(text)).rows
  return {
    runs: await read<FinalRun>(`select id, state, attempt, key, output::text, reason from holdfast.runs`),
    memos: await read<FinalMemo>(`select run_id as run, key, value::text from holdfast.steps`),
    claims: await read<ClaimRecord>(
      `select run_id as run, token, worker_id as worker, outcome, reason, error::text,
        (extract(epoch from began_at) * 1000)::double precision as "beganAt",
        (extract(epoch from ended_at) * 1000)::double precision as "endedAt"
      from holdfast.all_claims order by run_id, token`,
    ),
    effects: await read<Effect>(`select run_id as run, nonce from history.effects`),
    events: await readHistory(pool),
    bodies: bodyLogs.flatMap((path) => readBodyLog(path)),
  }
}
