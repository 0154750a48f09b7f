import pg from 'pg'
import { z } from 'zod'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { ordered, tell } from '../support/tell.ts'

/** Workflows whose bodies count themselves in a table, run by workers of the test's process and of others. */

export const bodiesTable = 'create table bodies (run_id uuid not null, key text not null, attempt int not null)'

const input = z.object({ connectionString: z.string() })

/** A step whose body leaves a row, whether or not its answer is kept. */
async function counted(run: Run, connectionString: string, name: string): Promise<string> {
  return await run.step(name, async ({ key }) => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    await client.query('insert into bodies values ($1, $2, $3)', [run.id, key, run.attempt])
    await client.end()
    return `${key} of attempt ${run.attempt}`
  })
}

const options = { input, maxAttempts: 3, retry: { initial: 0 } } as const

/** Keeps two steps in its first claim and a third in its second; between them comes what `interlude` answers. */
const between = (interlude: (run: Run) => unknown) => {
  const isFirst = new Set<string>()
  return async ({ connectionString }: z.infer<typeof input>, run: Run): Promise<unknown> => {
    const answers = [
      await counted(run, connectionString, 'one'),
      ...(await Promise.all([counted(run, connectionString, 'two'), counted(run, connectionString, 'two')])),
    ]
    if (!isFirst.has(run.id)) {
      isFirst.add(run.id)
      return await interlude(run)
    }
    return [...answers, await counted(run, connectionString, 'three')]
  }
}

export const throwing = defineWorkflow({
  ...options,
  name: 'kept over a throw',
  handler: between(() => {
    throw new Error('not yet')
  }),
})

export const retrying = defineWorkflow({
  ...options,
  name: 'kept over a retry',
  handler: between((run) => run.retry('5ms')),
})

export const snoozing = defineWorkflow({
  ...options,
  name: 'kept over a snooze',
  handler: between((run) => run.snooze('5ms')),
})

export const failing = defineWorkflow({
  ...options,
  name: 'kept over a failure and client.retry',
  handler: between((run) => run.fail('for now')),
})

/** Tells when it has kept its steps, and stays until told to go on. */
export const staying = defineWorkflow({
  ...options,
  name: 'kept over the loss of a worker',
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
