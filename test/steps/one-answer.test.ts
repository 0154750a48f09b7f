import { beforeEach, expect, test } from 'vitest'
import { defineWorkflow, LeaseLostError } from '../../src/index.ts'
import { claimByHand, expire, memo, sweepLeases, type ClaimByHand } from '../support/claim-by-hand.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { memo as keepItem } from '../support/runs.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()
const held = defineWorkflow({ name: 'held by hand', handler: () => undefined })

let runId: string

beforeEach(async () => {
  runId = (await openClient(database).start(held)).id
})

async function stored(id = runId): Promise<{ key: string; value: unknown; token: number }[]> {
  const { rows } = await database.query<{ key: string; value: unknown; token: number }>(
    'select key, value, token from holdfast.steps where run_id = $1 order by key',
    [id],
  )
  return rows
}

async function takeOver(): Promise<ClaimByHand> {
  await expire(database, runId)
  expect(await sweepLeases(database)).toBe(1)
  return await claimByHand(database, runId)
}

test.each([
  { end: 'commit', value: 1, seen: [{ n: 1, lost: null, kind: 'answer', value: '1', types: null }] },
  { end: 'rollback', value: 2, seen: [] },
])(
  'STEP-02: a second answer waits for the first, and after its $end both callers have one',
  async ({ end, value, seen }) => {
    const { claim } = await claimByHand(database, runId)
    const [first, second] = [await connect(database), await connect(database)]
    await first.query('begin')
    expect(
      await first.call('keep_steps', `{${runId}}`, [keepItem(runId, claim.token, { value: '1', seq: 1 })]),
    ).toEqual([])
    const waiting = await second.block(
      second.call('keep_steps', `{${runId}}`, [keepItem(runId, claim.token, { value: '2', seq: 2 })]),
    )
    await first.query(end)
    expect(await waiting.done).toEqual(seen)
    expect(await stored()).toEqual([{ key: 'step', value, token: claim.token }])
  },
)

test('STEP-02: two answers in one batch of a worker are one, and both callers see it', async () => {
  const { journal } = await claimByHand(database, runId)
  const answers = await Promise.all([journal.keep(memo('step', '1', 1)), journal.keep(memo('step', '2', 2))])
  expect(answers.map(({ value }) => value)).toEqual(['1', '1'])
  expect(await stored()).toMatchObject([{ value: 1 }])
})

test("STEP-02: an answer kept before a take-over is the next claim's too", async () => {
  const x = await claimByHand(database, runId)
  await x.journal.keep(memo('step', '"x"'))
  const y = await takeOver()
  expect(y.claim.memos).toMatchObject([{ key: 'step', value: '"x"', token: x.claim.token }])
  expect(await y.journal.keep(memo('step', '"y"', 2))).toMatchObject({ value: '"x"' })
  expect(await stored()).toEqual([{ key: 'step', value: 'x', token: x.claim.token }])
})

test('STEP-02: an answer that comes after a take-over is refused, before and after the new claim has its own', async () => {
  const x = await claimByHand(database, runId)
  const y = await takeOver()
  await expect(x.journal.keep(memo('step', '"x"'))).rejects.toBeInstanceOf(LeaseLostError)
  expect(await stored()).toEqual([])
  await y.journal.keep(memo('step', '"y"'))
  await expect(x.journal.keep(memo('step', '"x"'))).rejects.toBeInstanceOf(LeaseLostError)
  expect(await stored()).toEqual([{ key: 'step', value: 'y', token: y.claim.token }])
})

test('STEP-02: whichever of two claims is faster, whoever gets an answer gets the one that is stored', async () => {
  const client = openClient(database)
  for (let round = 0; round < 40; round += 1) {
    runId = (await client.start(held)).id
    const x = await claimByHand(database, runId)
    const late = x.journal.keep(memo('step', '"x"')).catch((error: unknown) => error as LeaseLostError)
    await expire(database, runId)
    // A step that is just being kept holds the sweep off.
    while ((await sweepLeases(database)) === 0);
    const y = await claimByHand(database, runId)
    const answers = [await late, y.claim.memos[0], await y.journal.keep(memo('step', '"y"', 2))]
    const [row] = await stored()
    for (const answer of answers) {
      if (answer === undefined || answer instanceof LeaseLostError) continue
      expect(JSON.parse(answer.value)).toBe(row?.value)
    }
    expect(await stored()).toHaveLength(1)
  }
})

test('STEP-02: a body that is overtaken by the next claim answers nobody, and what stays is the answer of the new one', async () => {
  const [inBody, taken] = [signal(), signal()]
  const seen: unknown[] = []
  const raced = defineWorkflow({
    name: 'raced',
    lease: '1.5s',
    handler: async (_, run) => {
      const answer = await run
        .step('step', async () => {
          if (run.attempt > 1) return 'of the second claim'
          inBody.give()
          await taken.promise
          return 'of the first claim'
        })
        .catch((error: unknown) => error)
      seen.push(answer)
      if (run.attempt > 1) taken.give()
      return answer
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [raced] })
  const run = await client.start(raced)
  await inBody.promise
  await expire(database, run.id)
  expect(await client.result(run)).toBe('of the second claim')
  await expect.poll(() => seen).toHaveLength(2)
  expect(seen).toContainEqual(expect.any(LeaseLostError))
  expect(await stored(run.id)).toMatchObject([{ value: 'of the second claim', token: 3 }])
})
