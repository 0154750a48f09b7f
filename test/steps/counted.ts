import pg from 'pg'
import { z } from 'zod'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { ordered, tell } from '../support/tell.ts'

/** A workflow whose bodies count themselves in a table, run by workers of the test's process and of others. */

export const bodiesTable = 'create table bodies (run_id uuid not null, key text not null, attempt int not null)'

/** A step whose body leaves a row, whether or not its answer is kept. */
async function counted(run: Run, connectionString: string, name: string): Promise<string> {
  return await run.step(name, async ({ key }) => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    await client.query('insert into public.bodies values ($1, $2, $3)', [run.id, key, run.attempt])
    await client.end()
    return `${key} of attempt ${run.attempt}`
  })
}

/** Tells when it has kept its steps, and stays until told to go on. */
export const staying = defineWorkflow({
  name: 'kept over the loss of a worker',
  input: z.object({ connectionString: z.string() }),
  maxAttempts: 3,
  retry: { initial: 0 },
  handler: async ({ connectionString }, run) => {
    const answers = [
      await counted(run, connectionString, 'one'),
      ...(await Promise.all([counted(run, connectionString, 'two'), counted(run, connectionString, 'two')])),
    ]
    tell('kept', run)
    await ordered(`go on ${run.id}`)
    return [...answers, await counted(run, connectionString, 'three')]
  },
})
