import fc from 'fast-check'
import { test } from 'vitest'
import type { Death } from './dying-journal.ts'
import { MemoryRun, type MemoryRunOptions } from './memory-run.ts'
import { play } from './play.ts'
import { programs, type Program } from './programs.ts'

/** Random handlers in memory, whose process dies around every memo. test/steps has some of them against Postgres. */

/** How the storage behaves: how fast each memo is kept, and which transactions are undone once. */
const storages: fc.Arbitrary<MemoryRunOptions> = fc.record({
  turnsToKeep: fc.array(fc.nat(5), { minLength: 1, maxLength: 5 }),
  undone: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
  turnsToOpen: fc.nat(4),
  signals: fc.array(fc.record({ name: fc.constantFrom('s', 't'), after: fc.integer({ min: 1, max: 12 }) }), {
    maxLength: 4,
  }),
})
const deaths: fc.Arbitrary<Death[]> = fc.array(
  fc.oneof(
    fc.record({ memo: fc.integer({ min: 1, max: 8 }), when: fc.constantFrom('before', 'after') }),
    fc.record({ turns: fc.nat(40) }),
  ),
  { maxLength: 4 },
)
// More of them take minutes: `HOLDFAST_PROGRAMS=20000` before a change of the order is believed.
const numRuns = Number(process.env['HOLDFAST_PROGRAMS'] ?? 200)
const timeout = 30_000 + numRuns * 50

async function dieAroundEachMemo(program: Program, storage: MemoryRunOptions): Promise<void> {
  const memos = await play(program, new MemoryRun(storage), [])
  for (let memo = 1; memo <= memos; memo += 1) {
    await play(program, new MemoryRun(storage), [{ memo, when: 'before' }])
    await play(program, new MemoryRun(storage), [{ memo, when: 'after' }])
  }
}

test(
  'STEP-07: whatever a handler is made of and wherever it dies, each call gets its own answer and each race its winner',
  { timeout },
  async () => {
    await fc.assert(fc.asyncProperty(programs, storages, dieAroundEachMemo), { numRuns })
  },
)

test(
  'STEP-04: each call gets its own answer and each race its winner when process after process dies',
  { timeout },
  async () => {
    await fc.assert(
      fc.asyncProperty(programs, storages, deaths, async (program, storage, each) => {
        await play(program, new MemoryRun(storage), each)
      }),
      { numRuns: numRuns * 5 },
    )
  },
)
