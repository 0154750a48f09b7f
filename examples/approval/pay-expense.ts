import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { bank } from './bank.ts'

/** Pays. A workflow of its own, so that its attempts, its limits and its failures are its own too. */
export const payExpense = defineWorkflow({
  name: 'pay expense',
  input: z.object({ account: z.string(), cents: z.int() }),
  handler: async ({ account, cents }, run) =>
    await run.step('transfer', (step) => bank.transfer(account, cents, step.idempotencyKey)),
})
