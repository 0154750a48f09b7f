import { z } from 'zod'
import { ChildFailedError, defineWorkflow, WaitTimeoutError, type Directive } from '../../src/index.ts'
import { askManager } from './ask-manager.ts'
import { book, release, reserve } from './budget.ts'
import { euros, expenseSchema } from './expense.ts'
import { mail } from './mail.ts'
import { payExpense } from './pay-expense.ts'

/** Above this the finance team looks too. */
const financeAboveCents = 1_000_00

/**
 * One expense, from the wish to the receipt. The money is set aside first; whatever then ends the run in failure, be it a
 * rejection, silence, a closed account or a cancel, rolls that back.
 */
export const approveExpense = defineWorkflow({
  name: 'approve expense',
  input: expenseSchema,
  handler: async (expense, run) => {
    const { by, department, what, cents, account } = expense

    const tell = (outcome: string) =>
      run.step(`tell: ${outcome}`, (step) =>
        mail.send({ to: by, subject: outcome, text: `${what}, ${euros(cents)}` }, step.idempotencyKey),
      )
    const refuse = async (reason: string, cause?: unknown): Promise<Directive> => {
      await tell('refused')
      return run.fail(reason, { cause })
    }

    const isReserved = await run.transaction('reserve', (tx) => reserve(tx, expense), {
      rollback: () => release(expense),
    })
    if (!isReserved) return await refuse(`the budget of ${department} is spent`)

    try {
      const decision = await askManager(expense, run)
      if (!decision.isApproved) return await refuse(`rejected by ${decision.by}`)
    } catch (error) {
      if (error instanceof WaitTimeoutError) return await refuse('nobody decided in time', error)
      throw error
    }

    if (cents > financeAboveCents) {
      const { isFine } = await run.park('finance', {
        reason: `${euros(cents)} for ${what}: is it fine? {"isFine": true} or {"isFine": false}`,
        schema: z.object({ isFine: z.boolean() }),
      })
      if (!isFine) return await refuse('rejected by finance')
    }

    try {
      const receipt = await run.call(payExpense, { account, cents })
      await run.transaction('book', (tx) => book(tx, expense, receipt))
      await tell('paid')
      return { receipt }
    } catch (error) {
      if (error instanceof ChildFailedError) return await refuse('it could not be paid', error)
      throw error
    }
  },
})
