import { beforeEach, expect, inject, test } from 'vitest'
import { defineWorkflow, type Step } from '../../src/index.ts'
import { crashTest } from '../../src/testing.ts'
import { turn } from '../execute/turn.ts'

const { connectionString } = inject('testServer')

/** The cards that a run has charged: a charge under a key that is known is no further one. */
const charges = new Map<string, Set<string>>()

async function charge(runId: string, card: string, step: Step): Promise<string> {
  await turn()
  const charged = charges.get(runId) ?? new Set()
  charges.set(runId, charged.add(`${card} ${step.idempotencyKey}`))
  return card
}

const saga = defineWorkflow({
  name: 'saga',
  handler: async (_, run) => {
    let card: string
    try {
      card = await run.step('charge A', async () => {
        await turn()
        throw new Error('A is declined')
      })
    } catch {
      card = await run.step('charge B', (step) => charge(run.id, 'B', step))
    }
    await run.sleep('cool off', '14d')
    return await run.step('ship', () => `paid by ${card}`)
  },
})

/** A is only out of order for a while: tried once more, it might be charged beside B. */
const shaky = new Map<string, number>()
const shakySaga = defineWorkflow({
  name: 'shaky saga',
  handler: async (_, run) => {
    let card: string
    try {
      card = await run.step('charge A', async (step) => {
        const count = (shaky.get(run.id) ?? 0) + 1
        shaky.set(run.id, count)
        if (count === 1) throw new Error('A does not answer')
        return await charge(run.id, 'A', step)
      })
    } catch {
      card = await run.step('charge B', (step) => charge(run.id, 'B', step))
    }
    await run.sleep('cool off', '14d')
    await run.step('ship', () => card)
    return [...(charges.get(run.id) ?? [])].length
  },
})

beforeEach(() => charges.clear())

test('a saga charges one card, wherever its process dies', async () => {
  const report = await crashTest(saga, undefined, { connectionString })
  expect(report).toMatchObject({ problems: [], outcome: { state: 'done', output: 'paid by B' } })
  expect(report.points).toBeGreaterThan(10)
  expect(charges.size).toBe(report.points + 2)
  for (const [runId, charged] of charges) expect([...charged]).toEqual([`B ${runId}/charge B`])
})

test('a saga charges one card even if the first would take it at the second try', async () => {
  const report = await crashTest(shakySaga, undefined, { connectionString })
  expect(report).toMatchObject({ problems: [], outcome: { output: 1 } })
  for (const charged of charges.values()) expect(charged.size).toBe(1)
})
