import { expect } from 'vitest'
import type { Memo } from '../../src/model/journal.ts'
import type { Outcome } from '../../src/model/outcome.ts'
import type { Death } from './dying-journal.ts'
import { MemoryRun } from './memory-run.ts'
import type { PlayedRun } from './played-run.ts'
import { Subject, type Program, type Seen } from './programs.ts'

/**
 * Plays a program from start to end and answers how many memos it kept. `deaths`: how each of the first claims ends.
 * Whatever the program is: a site gets its own answers, a claim sees what the one before it saw and was kept, in the
 * same order, nothing that was kept runs again, and the whole history replayed ends as the run did.
 */
export async function play(program: Program, run: PlayedRun, deaths: readonly (Death | undefined)[]): Promise<number> {
  let isDead = (): boolean => false
  let known: Known = { seen: [], sure: 0 }
  const subject = new Subject(program, () => isDead())
  for (let claim = 0; ; claim += 1) {
    const before = await run.memos()
    const end = await run.claim(subject.workflow, {
      death: deaths[claim],
      onBegin: (journal) => void (isDead = () => journal.isDead()),
    })
    const seen = check(subject, claim, before)
    known = ofMemos(known, before)
    // A process may die before it has seen all that the ones before it saw. And after a failure that was not kept the
    // handler may go another way, and end before it has seen what came behind that.
    const common = Math.min(known.seen.length, seen.length)
    const overlap = end ? Math.max(known.sure, common) : common
    expect(seen.slice(0, overlap)).toEqual(known.seen.slice(0, overlap))
    if (seen.length >= known.seen.length) known = { seen, sure: seen.length }
    if (!run.isOver(end, subject.workflow)) continue
    const memos = await run.memos()
    if (end && end.outcome.kind !== 'retry') await replay(subject, memos, end.outcome)
    return memos.length
  }
}

function check(subject: Subject, claim: number, memos: readonly Memo[]): readonly Seen[] {
  const seen = subject.seen[claim] ?? []
  expect(seen.filter((each) => !subject.isOwn(each))).toEqual([])
  const signals = seen.flatMap(({ answer }) =>
    typeof answer === 'string' && /^signal \d/.test(answer) ? [answer] : [],
  )
  expect(new Set(signals).size).toBe(signals.length)
  expect(subject.bodies[claim]?.filter((key) => memos.some((memo) => memo.key === key))).toEqual([])
  return seen
}

/** What claims saw, so far as it was kept, and how much of it the next one sees for certain. */
interface Known {
  readonly seen: readonly Seen[]
  readonly sure: number
}

function ofMemos({ seen, sure }: Known, memos: readonly Memo[]): Known {
  const answers = memos.map(({ kind, value }) => {
    const stored = JSON.parse(value) as { readonly message: string } | null
    if (kind === 'timeout') return '"late"'
    return JSON.stringify(kind === 'failure' ? stored?.message : (stored ?? 'slept'))
  })
  const isKept = ({ answer }: Seen): boolean => answers.includes(JSON.stringify(answer))
  const firstLost = seen.findIndex((each) => !isKept(each))
  return { seen: seen.filter(isKept), sure: firstLost < 0 ? sure : Math.min(sure, firstLost) }
}

async function replay(subject: Subject, memos: readonly Memo[], outcome: Outcome): Promise<void> {
  const claim = subject.seen.length
  const end = await new MemoryRun({ memos }).claim(subject.workflow)
  check(subject, claim, memos)
  expect(subject.seen[claim]).toEqual(subject.seen[claim - 1])
  expect(stackless(end?.outcome)).toEqual(stackless(outcome))
}

/** A time-out has the stack of the claim that met it. */
function stackless(outcome: Outcome | undefined): unknown {
  return JSON.parse(JSON.stringify(outcome, (key, value: unknown) => (key === 'stack' ? undefined : value)))
}
