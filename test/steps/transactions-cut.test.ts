import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Database } from '../../src/db/database.ts'
import { JournalStore } from '../../src/db/live-journal.ts'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { claimByHand, expire, memo, sweepLeases, type ClaimByHand } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { startProxy, type CutOptions } from '../support/proxy.ts'
import { isPointless, optionsFor } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { rowsOf, rowsTable } from './inserting.ts'

/**
 * Connections lost at each statement of a run.transaction. The body writes a row that may be there only once, so a body
 * that ran again after its commit would fail.
 */

const database = useDatabase()

beforeAll(async () => void (await database.query(rowsTable)))

let bodies = 0

const inserting = defineWorkflow({
  name: 'inserting',
  maxAttempts: 1,
  input: z.object({ mark: z.string() }),
  handler: async ({ mark }, run: Run) =>
    await run.transaction('insert', async (tx) => {
      bodies += 1
      await tx.query(`select '${mark} first'`)
      await tx.query('insert into public.rows values ($1, $2)', [run.id, mark])
      await tx.query(`select '${mark} last'`)
      return mark
    }),
})

const statements: Record<string, (mark: string) => RegExp> = {
  begin: () => /^Qbegin isolation/,
  'the first statement of the body': (mark) => new RegExp(`^Qselect '${mark} first`),
  'the insert': () => /^P\0?insert into public\.rows/,
  'the last statement of the body': (mark) => new RegExp(`^Qselect '${mark} last`),
  'the memo': () => /^P\0select \* from .*keep_steps/,
  commit: () => /^Qcommit/,
}

const isAlike = isPointless('pool-of-2', 'every call has a commit of its own, and a cut may meet that')
if (isAlike) delete statements['commit']

const cuts = Object.keys(statements).flatMap((statement) =>
  (['before', 'after'] as const).map((when): { statement: string; when: CutOptions['when'] } => ({ statement, when })),
)

test.each(cuts)(
  'STEP-05: cut $when the server has $statement, rows and memo commit once',
  async ({ statement, when }) => {
    const proxy = await startProxy(database)
    const client = openClient(database)
    await startWorker(proxy, { workflows: [inserting] })
    const mark = randomUUID()
    bodies = 0
    const pattern = statements[statement]?.(mark)
    if (!pattern) throw new Error(`no statement ${statement}`)
    const wasCut = proxy.cut(pattern, { when })
    const run = await client.start(inserting, { mark })
    await wasCut
    expect(await client.result(run)).toBe(mark)
    expect(await rowsOf(database, run.id)).toEqual([mark])
    expect((await database.query('select value from holdfast.steps where run_id = $1', [run.id])).rows).toEqual([
      { value: mark },
    ])
    expect(bodies).toBe(statement === 'begin' || (statement === 'commit' && when === 'after') ? 1 : 2)
  },
)

test.each([
  {
    what: "its memo is the next claim's, and it is refused",
    loses: /^Qcommit/,
    memos: ['insert'],
    rows: ['x'],
    ran: 1,
  },
  {
    what: 'nothing of it is there, and it is refused',
    loses: /^P\0select \* from .*keep_steps/,
    memos: [],
    rows: [],
    ran: 2,
  },
])(
  'STEP-05: after a take-over, between a lost answer and the next look: $what',
  async ({ loses, memos, rows, ran }) => {
    const proxy = await startProxy(database)
    const { id } = await openClient(database).start(inserting, { mark: 'x' })
    const x = await claimByHand(database, id)
    const own = new Database({ ...optionsFor(proxy), clock: systemClock, size: 2 })
    let next: ClaimByHand | undefined
    const takeOver = async (): Promise<void> => {
      await expire(database, id)
      await database.query(`update holdfast.runs set max_attempts = 2 where id = $1`, [id])
      await vi.waitFor(async () => expect(await sweepLeases(database)).toBe(1), 15_000)
      next = await claimByHand(database, id)
    }
    // The worker waits before it looks again.
    const clock = { ...systemClock, sleep: takeOver }
    const journal = new JournalStore(own, { clock, until: new AbortController().signal }).open(x.claim)
    const wasCut = proxy.cut(loses, { when: 'after' })
    bodies = 0
    const transacted = journal.transact(async (tx) => {
      bodies += 1
      await tx.query('insert into public.rows values ($1, $2)', [id, 'x'])
      return memo('insert', '"x"')
    })
    await expect(transacted).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'superseded' })
    await wasCut
    expect(next?.claim.memos.map(({ key }) => key)).toEqual(memos)
    expect(await rowsOf(database, id)).toEqual(rows)
    expect(bodies).toBe(ran)
    await own.close()
  },
)
