import { inject, expect, test } from 'vitest'
import { defineWorkflow, type Workflow } from '../../src/index.ts'
import { crashTest, type CrashReport } from '../../src/testing.ts'
import { turn } from '../execute/turn.ts'

const { connectionString } = inject('testServer')

async function find(workflow: Workflow): Promise<CrashReport> {
  const began = performance.now()
  const report = await crashTest(workflow, undefined, { connectionString })
  console.log(workflow.name, report.points, Math.round(performance.now() - began))
  return report
}

const sequential = defineWorkflow({
  name: 'sequential',
  handler: async (_, run) => {
    const a = await run.step('a', () => 1)
    const b = await run.step('b', async () => {
      await turn()
      return a + 1
    })
    return [a, b, await run.step('b', () => b + 1)]
  },
})

test('steps in sequence survive a crash anywhere', async () => {
  const report = await find(sequential)
  expect(report.problems).toEqual([])
  expect(report.outcome).toEqual({ state: 'done', output: [1, 2, 3], failure: undefined, reason: undefined })
  expect(report.points).toBeGreaterThan(15)
})
