import { defineWorkflow } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { ordered, tell } from '../support/tell.ts'

/** What the bodies of transactions write. */
export const rowsTable = 'create table rows (run_id uuid not null, label text not null, unique (run_id, label))'

export async function rowsOf(database: TestDatabase, runId: string): Promise<string[]> {
  const { rows } = await database.query<{ label: string }>('select label from rows where run_id = $1 order by ctid', [
    runId,
  ])
  return rows.map((row) => row.label)
}

/** Tells when its row is written, and commits when told to. */
export const slowlyInserting = defineWorkflow({
  name: 'slowly inserting',
  handler: (_, run) =>
    run.transaction('insert', async (tx) => {
      await tx.query('insert into public.rows values ($1, $2)', [run.id, `attempt ${run.attempt}`])
      tell('inserted', run)
      await ordered(`commit ${run.id}`)
      return `inserted by attempt ${run.attempt}`
    }),
})
