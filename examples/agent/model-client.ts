import { z } from 'zod'
import type { Step } from '../../src/index.ts'
import { toolNames } from './tools.ts'

interface Caller {
  readonly tenant: string
  readonly runId: string
}

interface Busy {
  readonly retryAfter: `${number}s`
}

// A model may answer with anything. What does not fit throws, and the run is tried again.
const planSchema = z.object({ toolCalls: z.array(z.object({ tool: z.enum(toolNames), about: z.string() })) })
const answerSchema = z.object({ text: z.string().min(1) })

export async function askForPlan(question: string, caller: Caller, step: Step) {
  return await ask({ question, tools: toolNames }, planSchema, caller, step)
}

export async function askForAnswer(question: string, findings: readonly string[], caller: Caller, step: Step) {
  return await ask({ question, findings }, answerSchema, caller, step)
}

async function ask<T extends object>(
  body: object,
  schema: z.ZodType<T>,
  { tenant, runId }: Caller,
  step: Step,
): Promise<T | Busy> {
  const response = await fetch(`${process.env.MODEL_URL}/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-tenant': tenant,
      'x-run': runId,
      'x-step': step.key,
      'x-worker': process.env.WORKER_NAME ?? '',
    },
    body: JSON.stringify(body),
    signal: step.abortSignal,
  })
  if (response.status === 429) return { retryAfter: `${Number(response.headers.get('retry-after'))}s` }
  if (!response.ok) throw new Error(`the model answered ${response.status}`)
  return schema.parse(await response.json())
}
