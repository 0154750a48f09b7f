/**
 * Five expenses ask for approval: one is approved at once, one after a reminder, one never, one cannot be paid, and one needs
 * the finance team too. README.md tells how to read what this prints.
 */
import { createWorker, RunFailedError, type Client, type Started } from '../../src/index.ts'
import { printChecks, printTable } from '../support/print.ts'
import { runExample } from '../support/run-example.ts'
import { approveExpense } from './approve-expense.ts'
import { leftOf, openBudgets } from './budget.ts'
import { euros } from './expense.ts'
import { payExpense } from './pay-expense.ts'
import { department, expenseOf, playFinance, playManager, stories } from './stories.ts'
import { judge, type Ending } from './verdict.ts'

const budgetCents = 5_000_00

await runExample('approval', async ({ connectionString, pool, client, cleanups, giveUp }) => {
  await openBudgets(pool, { [department]: budgetCents })
  const worker = createWorker({ connectionString, workflows: [approveExpense, payExpense] })
  cleanups.push(() => worker.stop({ grace: 0 }))
  await worker.start()
  console.log(`${stories.length} expenses ask for approval. The budget of ${department} is ${euros(budgetCents)}.\n`)

  playManager(client, giveUp)
  playFinance(client).catch(giveUp)
  const runs = await Promise.all(
    stories.map(async (story) => await client.start(approveExpense, expenseOf(story), { key: story.what })),
  )
  const endings = await Promise.all(
    runs.map(async (run, index) => ({ ...(await endOf(client, run)), what: stories[index]?.what ?? '' })),
  )

  const leftCents = await leftOf(pool, department)
  printTable(
    'Expenses',
    endings.map(({ what, outcome, detail }) => [what, outcome, detail]),
  )
  printTable('Budget, by the database', [
    ['at the start', euros(budgetCents)],
    ['left', euros(leftCents)],
  ])
  const checks = judge(endings, budgetCents - leftCents)
  printChecks(checks)
  return checks
})

/** Waits for the end of a run and, if it failed, for that of the run that undoes its steps. */
async function endOf(client: Client, run: Started<{ receipt: string }>): Promise<Omit<Ending, 'what'>> {
  try {
    const { receipt } = await client.result(run)
    return { outcome: 'paid', detail: receipt, undone: [], cause: undefined }
  } catch (error) {
    if (!(error instanceof RunFailedError)) throw error
    const rollback = (await client.get(run))?.rollback
    if (rollback) await client.result(rollback.run)
    const view = await client.get(run)
    const undone = view?.rollback?.undone ?? []
    return {
      outcome: 'refused',
      detail: `${view?.reason}; rolled back: ${undone.join(', ')}`,
      undone,
      cause: error.cause instanceof Error ? error.cause.message : undefined,
    }
  }
}
