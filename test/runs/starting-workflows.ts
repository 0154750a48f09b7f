import { z } from 'zod'
import { createClient, defineWorkflow } from '../../src/index.ts'
import { ordered, tell } from '../support/tell.ts'

export const double = defineWorkflow({ name: 'double', input: z.number(), handler: (n) => n * 2 })

/** Starts another run on the database that is its input, and lives on until it is killed. */
export const starting = defineWorkflow({
  name: 'starting',
  input: z.string(),
  handler: async (connectionString, run) => {
    const client = createClient({ connectionString, migrate: 'off' })
    const started = await client.start(double, 21)
    tell('started', run, started.id)
    await ordered('go on')
  },
})
