import { expect } from 'vitest'
import type { Workflow } from '../../src/index.ts'
import type { Memo } from '../../src/model/journal.ts'
import type { Ending, Outcome } from '../../src/model/outcome.ts'
import type { Death, DyingJournal } from './dying-journal.ts'
import { MemoryRun } from './memory-run.ts'
import { Subject, type Program, type Seen } from './programs.ts'

export interface ClaimOptions {
  readonly death?: Death | undefined
  /** Gets the journal of the claim's process before its handler begins. */
  readonly onBegin?: ((journal: DyingJournal) => void) | undefined
}

/** A run that a test takes through its claims one by one. */
export interface PlayedRun {
  /** As they are handed out. */
  memos(): Promise<readonly Memo[]>
  /** Runs one claim to its end. Undefined: its process died. */
  claim(workflow: Workflow, options?: ClaimOptions): Promise<Ending | undefined>
  isOver(ending: Ending | undefined, workflow: Workflow): boolean
}

/** Whether an ending is the run's: the database fails a run whose last attempt asks for another. */
export function isFinal(ending: Ending | undefined, attempt: number, { definition }: Workflow): boolean {
  const kind = ending?.outcome.kind
  return kind === 'done' || kind === 'failed' || (kind === 'retry' && attempt >= definition.maxAttempts)
}

/**
 * Plays a program from start to end and answers how many memos it kept. `deaths`: how each of the first claims ends.
 * Whatever the program is: a site gets its own answers, a claim sees what the one before it saw and was kept, in the
 * same order, nothing that was kept runs again, and the whole history replayed ends as the run did.
 */
export async function play(program: Program, run: PlayedRun, deaths: readonly (Death | undefined)[]): Promise<number> {
  let isDead = (): boolean => false
  const subject = new Subject(program, () => isDead())
  for (let claim = 0; ; claim += 1) {
    const before = await run.memos()
    const end = await run.claim(subject.workflow, {
      death: deaths[claim],
      onBegin: (journal) => void (isDead = () => journal.isDead),
    })
    check(subject, claim, before)
    if (!run.isOver(end, subject.workflow)) continue
    const memos = await run.memos()
    if (end && end.outcome.kind !== 'retry') await replay(subject, memos, end.outcome)
    return memos.length
  }
}

function check(subject: Subject, claim: number, memos: readonly Memo[]): void {
  const { seen, seenInBodies, bodies } = subject
  const now = seen[claim] ?? []
  for (const each of [...now, ...seenInBodies.splice(0)]) expect(subject.isOwn(each)).toBe(true)
  expect(bodies[claim]?.filter((key) => memos.some((memo) => memo.key === key))).toEqual([])
  const last = ofMemos(seen[claim - 1] ?? [], memos)
  expect(now.slice(0, last.length)).toEqual(last)
}

function ofMemos(seen: readonly Seen[], memos: readonly Memo[]): readonly Seen[] {
  const answers = memos.map(({ kind, value }) => {
    const stored = JSON.parse(value) as { readonly message: string }
    return JSON.stringify(kind === 'failure' ? stored.message : stored)
  })
  return seen.filter(({ answer }) => answers.includes(JSON.stringify(answer)))
}

async function replay(subject: Subject, memos: readonly Memo[], outcome: Outcome): Promise<void> {
  const claim = subject.seen.length
  const end = await new MemoryRun({ memos }).claim(subject.workflow)
  check(subject, claim, memos)
  expect(subject.seen[claim]).toEqual(subject.seen[claim - 1])
  expect(end?.outcome).toEqual(outcome)
}
