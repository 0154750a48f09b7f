import fc from 'fast-check'
import { test } from 'vitest'
import { MemoryRun } from './memory-run.ts'
import { play } from './play.ts'
import { programs, type Program } from './programs.ts'

/** Random handlers in memory, whose process dies around every memo. test/steps has some of them against Postgres. */

const latencies = fc.array(fc.nat(5), { minLength: 1, maxLength: 5 })
const deaths = fc.array(fc.record({ memo: fc.integer({ min: 1, max: 8 }), when: fc.constantFrom('before', 'after') }), {
  maxLength: 4,
})
// More of them take minutes: `HOLDFAST_PROGRAMS=20000` before a change of the order is believed.
const numRuns = Number(process.env['HOLDFAST_PROGRAMS'] ?? 200)
const timeout = 30_000 + numRuns * 50

async function dieAroundEachMemo(program: Program, turnsToKeep: readonly number[]): Promise<void> {
  const memos = await play(program, new MemoryRun({ turnsToKeep }), [])
  for (let memo = 1; memo <= memos; memo += 1) {
    await play(program, new MemoryRun({ turnsToKeep }), [{ memo, when: 'before' }])
    await play(program, new MemoryRun({ turnsToKeep }), [{ memo, when: 'after' }])
  }
}

test(
  'STEP-04: whatever a handler is made of and wherever it dies, each call gets its own answer',
  { timeout },
  async () => {
    await fc.assert(fc.asyncProperty(programs, latencies, dieAroundEachMemo), { numRuns })
  },
)

test('STEP-04: and when it dies again and again', { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(programs, latencies, deaths, async (program, turnsToKeep, each) => {
      await play(program, new MemoryRun({ turnsToKeep }), each)
    }),
    { numRuns: numRuns * 5 },
  )
})
