import { beforeEach, expect, test } from 'vitest'
import { defineWorkflow, LeaseLostError } from '../../src/index.ts'
import { claimByHand, expire, memo, sweepLeases, type ClaimByHand } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { openClient } from '../support/worker.ts'

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
