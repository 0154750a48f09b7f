import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import type { Memo } from '../../src/model/journal.ts'
import { MemoryRun } from '../execute/memory-run.ts'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { readsIn } from '../support/reads.ts'
import { keep, memo, newWorker, openWaits, runningRuns } from '../support/runs.ts'

/**
 * What a step costs is counted, not timed: the rows that Postgres reads to keep it, and the turns of the event loop, the
 * calls of the journal and the comparisons that the executor makes for it.
 */

const database = useDatabase()
const many = 5_000

async function rowsRead(session: Connection, work: () => Promise<unknown>): Promise<number> {
  const { scans, fetched } = await readsIn(['runs', 'steps', 'waits', 'signals'], session, work)
  expect(scans).toBe(0)
  return fetched
}

/** Keeps memos 2 to `last` of a run. */
async function fill(session: Connection, id: string, last: number): Promise<void> {
  await session.query(
    `insert into holdfast.steps (run_id, key, kind, seq, ordinal, attempt, token, tries, kept_at, value)
     select $1, 'step ' || n, 'answer', n, n, 1, 1, 1, now(), '1' from generate_series(2, $2::int) n`,
    [id, last],
  )
}

test('STEP-08: Postgres reads as little to keep step 5,000 of a run, and to open a wait, as step 1', async () => {
  const session = await connect(database)
  const [id = '', other = ''] = await runningRuns(session, newWorker(), 2)
  const keepAt = (n: number) => keep(session, [memo(id, 1, { key: `step ${n}`, seq: n, ordinal: n })])
  const openAt = (n: number) =>
    openWaits(session, [{ id, token: 1, key: `wait ${n}`, kind: 'sleep', delay_ms: 9e9, seq: n }])
  // Plans are made, and cached after some calls.
  for (let n = 1; n <= 6; n += 1) await keep(session, [memo(other, 1, { key: `step ${n}`, seq: n, ordinal: n })])
  for (let n = 1; n <= 6; n += 1)
    await openWaits(session, [{ id: other, token: 1, key: `wait ${n}`, kind: 'sleep', delay_ms: 9e9, seq: n }])
  const first = await rowsRead(session, () => keepAt(1))
  const firstWait = await rowsRead(session, () => openAt(1))
  await fill(session, id, many - 1)
  expect(await rowsRead(session, () => keepAt(many))).toBeLessThanOrEqual(first * 1.5)
  expect(await rowsRead(session, () => openAt(many))).toBeLessThanOrEqual(firstWait * 1.5 + 2)
})

/** Counts what is asked of it, among 5,000 memos. */
function counted(count: number): { readonly memos: readonly Memo[]; readonly reads: () => number } {
  let reads = 0
  const memos = Array.from({ length: count }, (_, index) => {
    const n = index + 1
    const kept = { key: `step ${n}`, kind: 'answer', value: '1', types: null, attempt: 1, token: 1, tries: 1 } as const
    return {
      ...kept,
      ordinal: n,
      get seq(): number {
        reads += 1
        return n
      },
    }
  })
  return { memos, reads: () => reads }
}

test.each(['one after the other', 'in parallel'])(
  'STEP-08: to recall 5,000 steps %s the executor compares about as often a step as to recall 50',
  async (how) => {
    const workflow = defineWorkflow({
      name: 'recalls',
      handler: async (_, run) => {
        const step = (n: number): Promise<unknown> => run.step(`step ${n}`, () => Promise.reject(new Error('again')))
        const numbers = Array.from({ length: count }, (__, index) => index + 1)
        if (how === 'in parallel') await Promise.all(numbers.map(step))
        else for (const n of numbers) await step(n)
      },
    })
    let count = 50
    const perStep = async (): Promise<number> => {
      const { memos, reads } = counted(count)
      const run = new MemoryRun({ memos })
      const { journal, ending } = run.begin(workflow)
      const before = reads()
      expect(journal.memos).toHaveLength(count)
      expect((await ending).outcome.kind).toBe('done')
      return (reads() - before) / count
    }
    const few = await perStep()
    count = many
    expect(await perStep()).toBeLessThanOrEqual(Math.max(few, 1) * 1.5)
  },
)

test('STEP-08: step 5,000 asks the journal once and takes as many turns of the event loop as step 1', async () => {
  const turns: number[] = []
  let now = 0
  let isOver = false
  const tick = (): void => {
    now += 1
    if (!isOver) setImmediate(tick)
  }
  const workflow = defineWorkflow({
    name: 'takes many steps',
    handler: async (_, run) => {
      tick()
      for (let n = 1; n <= many; n += 1) {
        const before = now
        await run.step('step', () => n)
        turns.push(now - before)
      }
      isOver = true
    },
  })
  const run = new MemoryRun()
  expect((await run.claim(workflow))?.outcome.kind).toBe('done')
  expect(await run.memos()).toHaveLength(many)
  const most = (part: readonly number[]): number => Math.max(...part)
  expect(most(turns.slice(-500))).toBeLessThanOrEqual(most(turns.slice(0, 500)))
})
