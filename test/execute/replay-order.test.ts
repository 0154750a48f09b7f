import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Outcome } from '../../src/model/outcome.ts'
import { MemoryRun, type Death } from './memory-run.ts'
import { programs, Subject, type Program, type Seen } from './programs.ts'

/**
 * Random handlers whose process dies around every memo. Whatever they are: a site gets its own answers, a claim sees
 * what the one before it saw and was kept, in the same order, and nothing that was kept runs again.
 */

const isThorough = process.env['HOLDFAST_THOROUGH'] !== undefined
const runs = isThorough ? 3_000 : 150

interface Play {
  readonly memos: number
  readonly claims: number
}

async function play(program: Program, turnsToKeep: readonly number[], deaths: readonly Death[]): Promise<Play> {
  const run = new MemoryRun({ turnsToKeep })
  let isDead = (): boolean => false
  const subject = new Subject(program, () => isDead())
  for (let claim = 0; ; claim += 1) {
    const before = new Set(run.memos.keys())
    const begun = run.begin(subject.workflow, { death: deaths[claim] })
    isDead = () => begun.journal.isDead
    const ending = await Promise.race([begun.ending, begun.died])
    check(subject, run, claim, before)
    if (run.isOver(ending, subject.workflow)) {
      if (ending && ending.outcome.kind !== 'retry') await replay(subject, run, ending.outcome)
      return { memos: run.memos.size, claims: claim + 1 }
    }
  }
}

function check(subject: Subject, run: MemoryRun, claim: number, keptBefore: ReadonlySet<string>): void {
  const { seen, bodies } = subject
  for (const each of seen[claim] ?? []) expect(subject.isOwn(each)).toBe(true)
  expect(bodies[claim]?.filter((key) => keptBefore.has(key))).toEqual([])
  const last = keptOf(seen[claim - 1] ?? [], run, keptBefore)
  expect(seen[claim]?.slice(0, last.length)).toEqual(last)
}

/** What was seen of memos that were kept by then. */
function keptOf(seen: readonly Seen[], run: MemoryRun, keys: ReadonlySet<string>): readonly Seen[] {
  const kept = new Set(
    [...run.memos.values()].filter(({ key }) => keys.has(key)).map(({ kind, value }) => {
      const stored = JSON.parse(value) as { readonly message: string }
      return JSON.stringify(kind === 'failure' ? stored.message : stored)
    }),
  )
  return seen.filter(({ answer }) => kept.has(JSON.stringify(answer)))
}

/** The whole history once more: the same answers in the same order, and the same end. */
async function replay(subject: Subject, run: MemoryRun, outcome: Outcome): Promise<void> {
  const kept = new Set(run.memos.keys())
  const again = run.fork()
  const claim = subject.seen.length
  const ending = await again.claim(subject.workflow)
  check(subject, again, claim, kept)
  expect(subject.seen[claim]).toEqual(subject.seen[claim - 1])
  expect(ending?.outcome).toEqual(outcome)
}

const latencies = fc.array(fc.nat(5), { minLength: 1, maxLength: 5 })

test('STEP-04: random handlers that die around each of their memos see every answer where it belongs', async () => {
  await fc.assert(
    fc.asyncProperty(programs(), latencies, async (program, turnsToKeep) => {
      const { memos } = await play(program, turnsToKeep, [])
      for (let memo = 1; memo <= memos; memo += 1) {
        await play(program, turnsToKeep, [{ memo, when: 'before' }])
        await play(program, turnsToKeep, [{ memo, when: 'after' }])
      }
    }),
    { numRuns: runs },
  )
}, 60_000)
