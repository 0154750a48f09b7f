import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { askForAnswer, askForPlan } from './model-client.ts'
import { tools } from './tools.ts'

/** The model's host allows so many calls at once. And no tenant may have it to itself, neither for long nor in a burst. */
export const limits = {
  concurrency: { limit: 4, perGroup: 3 },
  rate: { perGroup: { limit: 20, per: 3000 } },
} as const

/**
 * One question of one tenant's customer: the model says which tools it wants, those are called, and the model answers
 * from what they found. Calls of a model are slow and cost money, so each reply is a step: kept once it is there.
 */
export const answerQuestion = defineWorkflow({
  name: 'answer question',
  input: z.object({ tenant: z.string(), question: z.string() }),
  group: ({ tenant }) => tenant,
  ...limits,
  fair: true,
  handler: async ({ tenant, question }, run) => {
    const caller = { tenant, runId: run.id }
    const isBusy = 'the model is busy'

    // Called too fast: come back later, not counted as an attempt. Meanwhile the run holds no slot.
    const plan = await run.step('plan', async (step) => {
      const reply = await askForPlan(question, caller, step)
      return 'retryAfter' in reply ? run.snooze(reply.retryAfter, isBusy) : reply.toolCalls
    })
    const findings = await Promise.all(plan.map(({ tool, about }) => run.step(tool, () => tools[tool](about))))
    const text = await run.step('answer', async (step) => {
      const reply = await askForAnswer(question, findings, caller, step)
      return 'retryAfter' in reply ? run.snooze(reply.retryAfter, isBusy) : reply.text
    })
    return { text }
  },
})
