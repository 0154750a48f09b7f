import { z } from 'zod'
import { defineWorkflow, WaitTimeoutError } from '../../src/index.ts'

/** What the processes run that killed.test.ts kills. */

export const child = defineWorkflow({
  name: 'child',
  input: z.number(),
  handler: async (n, run) => {
    await run.sleep('nap', 20)
    return n + 1
  },
})

export const parent = defineWorkflow({
  name: 'parent',
  maxAttempts: 20,
  handler: async (_, run) => {
    await run.sleep('nap', 20)
    const both = await Promise.all([run.call(child, 1), run.step('beside', () => 'beside')])
    const word = await run.waitFor('word')
    const late = await run
      .waitFor('never', { timeout: 20 })
      .catch((error: unknown) => error instanceof WaitTimeoutError)
    await run.start(child, 5)
    return [...both, word, late]
  },
})
