import { z } from 'zod'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import type { Limits } from '../../src/model/policy.ts'

/** The workflows of the limits suite: each way in which a limit is decided has one. */

const haulInput = z.object({
  /** Null: in none. */
  group: z.string().nullable(),
  ms: z.number(),
  /** How it goes on after its first claim, if not to its end. */
  turn: z.enum(['none', 'retry', 'snooze', 'suspend']),
})

export type Haul = z.infer<typeof haulInput>

const turnMs = 100
/** The least wait that a claim does not sit out. */
const suspensionMs = 10_100

async function haul({ ms, turn }: Haul, run: Run) {
  await systemClock.sleep(ms)
  if (turn === 'retry' && run.attempt === 1) return run.retry(0)
  if (turn === 'none' || turn === 'retry') return null
  const began = await run.step('began', () => systemClock.wallClock())
  const isNear = (): boolean => systemClock.wallClock() < began + turnMs
  if (turn === 'snooze') return isNear() ? run.snooze(turnMs) : null
  return await run.step('waited', () => failIf(isNear()), {
    retry: { maxTries: 100, initial: suspensionMs, factor: 1, jitter: 0 },
  })
}

function failIf(isEarly: boolean): null {
  if (isEarly) throw new Error('It is too early.')
  return null
}

function limited(name: string, limits: Omit<Limits<Haul>, 'group'>) {
  return defineWorkflow({
    name,
    input: haulInput,
    // Nothing here waits for a lease to run out, and sweepers that are late by a quarter of it hold back for 5 s.
    lease: '6s',
    maxAttempts: 100,
    retry: { initial: '50ms', max: '1s' },
    group: ({ group }) => group ?? undefined,
    ...limits,
    handler: haul,
  })
}

const per = '2s'

export const workflows = {
  solo: limited('solo', { concurrency: { perGroup: 1 } }),
  pairs: limited('pairs', { concurrency: { perGroup: 2 } }),
  fives: limited('fives', { concurrency: { perGroup: 5 } }),
  plain: limited('plain', { concurrency: 3 }),
  wide: limited('wide', { concurrency: { limit: 12, perGroup: 2 } }),
  fair: limited('fair', { concurrency: 4, fair: true }),
  rated: limited('rated', { rate: { limit: 32, per } }),
  ratedGroups: limited('ratedGroups', { rate: { perGroup: { limit: 2, per } } }),
  mixed: limited('mixed', {
    concurrency: { limit: 12, perGroup: 3 },
    rate: { limit: 250, per: '4s', perGroup: { limit: 15, per } },
  }),
  deployed: limited('deployed', { concurrency: { perGroup: 2 } }),
}

export type WorkflowName = keyof typeof workflows

export const workflowNames = Object.keys(workflows) as WorkflowName[]

/** What a later release says of `deployed`. */
export const redeployed = limited('deployed', { concurrency: { limit: 9, perGroup: 1 } })
