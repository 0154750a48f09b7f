import { expect, inject, test } from 'vitest'
import { crashTest } from '../../src/testing.ts'
import { children, healthyPrograms, titleOf, workflowOf } from './healthy-programs.ts'

const { connectionString } = inject('testServer')

const programs = healthyPrograms(50, 7).map((program) => [titleOf(program), program] as const)

test('there are fifty of them', () => {
  expect(programs).toHaveLength(50)
})

test.each(programs)('%s survives a crash anywhere', async (_, program) => {
  const report = await crashTest(workflowOf(program), undefined, {
    connectionString,
    workflows: children,
    signals: [{ signal: 'go' }, { signal: 'go', after: '90m' }],
    answers: { ask: true },
  })
  expect(report.problems).toEqual([])
  expect(report.points).toBeGreaterThan(5)
})
