import { expect, inject, test } from 'vitest'
import { crashTest } from '../../src/testing.ts'
import { children, healthyPrograms, titleOf, workflowOf } from './healthy-programs.ts'

const { connectionString } = inject('testServer')

const programs = healthyPrograms(50, 15).map((program) => [titleOf(program), program] as const)
const signals = [{ signal: 'go' }, { signal: 'go', after: '90m' }]

// What they wait for most is the server: several at once are done sooner.
test.concurrent.each(programs)('%s survives a crash anywhere', { timeout: 120_000 }, async (title, program) => {
  const report = await crashTest(workflowOf(program), undefined, {
    connectionString,
    workflows: children,
    signals: title.includes('wait go') ? signals : [],
    answers: { ask: true },
  })
  expect(report.problems).toEqual([])
  expect(report.points).toBeGreaterThan(5)
})

test('they are fifty, and have everything that a handler can be made of', () => {
  expect(programs).toHaveLength(50)
  const words = new Set(programs.flatMap(([title]) => title.match(/[a-z]{2,}/g) ?? []))
  expect(words).toEqual(new Set(kinds))
})

const kinds =
  'step transaction flaky sleep wait go stop park value call start chain all any race settled caught failing map loop floating'.split(
    ' ',
  )
