import { z } from 'zod'
import { createClient, defineWorkflow } from '../../src/index.ts'
import { ordered, tell } from '../support/tell.ts'
import { optionsFor } from '../support/variant.ts'
import { double } from './double.ts'

/**
 * Starts another run on the database that is its input, and lives on until it is killed. Its worker does not know the
 * other workflow: it could have taken the run just before it dies.
 */
export const starting = defineWorkflow({
  name: 'starting',
  input: z.string(),
  handler: async (connectionString, run) => {
    const client = createClient({ ...optionsFor({ connectionString }), migrate: 'off' })
    const started = await client.start(double, 21)
    tell('started', run, started.id)
    await ordered('go on')
  },
})
