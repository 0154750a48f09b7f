import { z } from 'zod'
import { defineSignal, type Run } from '../../src/index.ts'
import { euros, type Expense } from './expense.ts'
import { mail } from './mail.ts'

/** What a manager answers, by a link in the mail or wherever: `client.signal(run, decided, { by, isApproved: true })`. */
export const decided = defineSignal({
  name: 'decided',
  schema: z.object({ by: z.string(), isApproved: z.boolean() }),
})

/**
 * Asks, reminds once and waits on. Whether it takes a second or a week, the run holds no slot meanwhile and survives every
 * deploy. Throws WaitTimeoutError if no answer comes in time.
 */
export async function askManager(expense: Expense, run: Run): Promise<{ by: string; isApproved: boolean }> {
  const { manager, what, cents, remindAfter, giveUpAfter } = expense
  const ask = (kind: string) =>
    run.step(kind, (step) => {
      const text = `${expense.by} asks for ${euros(cents)} for ${what}.`
      mail.send({ to: manager, subject: `${kind}: ${what}`, text }, step.idempotencyKey)
    })

  await ask('please decide')
  const answer = run.waitFor(decided, { timeout: giveUpAfter })
  const isSilent = await Promise.race([
    answer.then(() => false),
    run.sleep('before the reminder', remindAfter).then(() => true),
  ])
  if (isSilent) await ask('still open')
  return await answer
}
