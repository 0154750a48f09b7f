import { expect } from 'vitest'
import type { Client, State, Which } from '../../src/index.ts'
import type { TestDatabase } from './database.ts'

/** Resolves once the run is in that state. */
export async function becomes(client: Client, run: Which, state: State): Promise<void> {
  await expect.poll(async () => (await client.get(run))?.state, { interval: 5 }).toBe(state)
}

/** Sets back, by a Postgres interval, the times that a run waits for, and has the workers look. */
export async function letPass(database: TestDatabase, runId: string, interval: string): Promise<void> {
  await database.query(`update holdfast.waits set due_at = due_at - $2::interval where run_id = $1`, [runId, interval])
  await database.query(
    `update holdfast.runs set due_at = due_at - $2::interval where id = $1 and state in ('scheduled', 'suspended')`,
    [runId, interval],
  )
  await database.query(`select holdfast._notify('due')`)
}

/** How a run's claims ended, the last one too, in their order. */
export async function endsOfClaims(database: TestDatabase, runId: string): Promise<string[]> {
  const { rows } = await database.query<{ outcome: string }>(
    'select outcome from holdfast.all_claims where run_id = $1 order by token',
    [runId],
  )
  return rows.map((row) => row.outcome)
}

/** Ends the claim of a run, as if its worker had been lost. Done at once, so that no renewal comes between. */
export async function loseClaim(database: TestDatabase, runId: string): Promise<void> {
  const connection = await database.pool.connect()
  try {
    await connection.query('begin isolation level read committed')
    await connection.query(
      `update holdfast.runs set lease_until = now() - interval '1 s' where id = $1 and state = 'running'`,
      [runId],
    )
    await connection.query('select holdfast.end_leases(500, now())')
    await connection.query('commit')
  } finally {
    connection.release()
  }
}
