import { afterEach, expect, test } from 'vitest'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { brokenInvariants, define, startIn, takeTickets } from '../support/limits.ts'
import { claim, claimFor, newWorker, runningRuns, settle } from '../support/runs.ts'

const database = useDatabase()

afterEach(async () => {
  expect(await brokenInvariants(database)).toEqual({})
})

let count = 0
const name = (): string => `settings ${(count += 1)}`

/** By the tickets that come, also those of a promotion. */
async function take(session: Connection, workflow: string): Promise<string[]> {
  await session.call('promote_due', 100)
  const claimed = await claimFor(session, newWorker(), await takeTickets(database, workflow), workflow)
  return claimed.map(({ id }) => id)
}

test('LIMIT-07: the newest first-seen limits apply, and an older process does not set them back', async () => {
  const session = await connect(database)
  const workflow = name()
  const older = [{ workflow, fingerprint: 'older', policy: { limits: { isFair: false, concurrency: 1 } } }]
  const newer = [{ workflow, fingerprint: 'newer', policy: { limits: { isFair: false, concurrency: 3 } } }]
  expect(await session.call('see_definitions', older)).toEqual([])
  expect(await session.call('see_definitions', newer)).toEqual([])
  const [told] = await session.call('see_definitions', older)
  expect({ ...told, in_force: JSON.parse(String(told?.['in_force'])) as unknown }).toEqual({
    workflow,
    in_force: { isFair: false, concurrency: 3 },
    is_set: false,
  })
  await startIn(session, workflow, undefined, undefined, undefined, undefined)
  expect(await take(session, workflow)).toHaveLength(3)
})

test('LIMIT-07: what an operator sets is in force at once, until it is taken back', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrency: 1 })
  await startIn(session, workflow, ...Array.from({ length: 6 }, () => undefined))
  expect(await take(session, workflow)).toHaveLength(1)
  await session.call('set_limits', workflow, { concurrency: 3 }, 'ada')
  expect(await take(session, workflow)).toHaveLength(2)
  await session.call('set_limits', workflow, { rate: { limit: 1, perMs: 60_000 } }, 'ada')
  expect(await take(session, workflow)).toHaveLength(0)
  await session.call('unset_limits', workflow, ['rate'], 'ada')
  expect(await take(session, workflow)).toHaveLength(0)
  await session.call('set_limits', workflow, { concurrency: null }, 'ada')
  expect(await take(session, workflow)).toHaveLength(3)
  await session.call('unset_limits', workflow, null, 'ada')
  await startIn(session, workflow, undefined)
  expect(await take(session, workflow)).toHaveLength(0)
})

test('LIMIT-01: a claim under way when a first limit is set is counted by it', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const workflow = name()
  await define(a, workflow, {})
  const [first, second] = (await startIn(a, workflow, undefined, undefined)) as [string, string]
  await takeTickets(database, workflow)
  await a.query('begin')
  expect(await claim(a, newWorker(), [first])).toMatchObject([{ id: first, is_limited: false }])
  const waiting = await b.block(b.call('set_limits', workflow, { concurrency: 1 }, null))
  await a.query('commit')
  await waiting.done
  expect(await claim(b, newWorker(), [second])).toMatchObject([{ id: second, token: null, is_limited: null }])
  expect(await claimFor(b, newWorker(), [{ run: second, group: undefined }], workflow)).toEqual([])
})

test('LIMIT-01: a settle under way when a first limit is set leaves no place taken', async () => {
  const [a, b] = [await connect(database), await connect(database)]
  const workflow = name()
  await define(a, workflow, {})
  const worker = newWorker()
  const [first, second] = (await startIn(a, workflow, undefined, undefined)) as [string, string]
  await takeTickets(database, workflow)
  await claim(a, worker, [first])
  await a.query('begin')
  await settle(a, worker, [{ id: first, token: 1, outcome: 'done' }])
  const waiting = await b.block(b.call('set_limits', workflow, { concurrency: 1 }, null))
  await a.query('commit')
  await waiting.done
  expect(await claimFor(b, newWorker(), [{ run: second, group: undefined }], workflow)).toMatchObject([{ id: second }])
})

test('LIMIT-01: a lowered limit ends no claim, and lets none begin before there is room below it', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrencyPerGroup: 3 })
  const worker = newWorker()
  const [a, b, c, d] = (await startIn(session, workflow, 'g', 'g', 'g', 'g')) as [string, string, string, string]
  await claimFor(session, worker, await takeTickets(database, workflow), workflow)
  await session.call('set_limits', workflow, { concurrencyPerGroup: 1 }, null)
  for (const id of [a, b]) {
    await settle(session, worker, [{ id, token: 1, outcome: 'done' }])
    expect(await take(session, workflow)).toEqual([])
  }
  await settle(session, worker, [{ id: c, token: 1, outcome: 'done' }])
  expect(await take(session, workflow)).toEqual([d])
})

test('LIMIT-03: a workflow that is limited in another way keeps count of what runs and what is set aside', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrency: 1 })
  const ids = await startIn(session, workflow, 'a', 'a', 'b', undefined)
  expect(await take(session, workflow)).toEqual([ids[0]])
  await session.call('set_limits', workflow, { concurrency: null, concurrencyPerGroup: 1 }, null)
  expect(await brokenInvariants(database)).toEqual({})
  expect((await take(session, workflow)).toSorted()).toEqual([ids[2], ids[3]])
  await session.call('set_limits', workflow, { concurrency: 4, isFair: true }, null)
  expect(await brokenInvariants(database)).toEqual({})
  await session.call('set_limits', workflow, { concurrencyPerGroup: null }, null)
  expect(await take(session, workflow)).toEqual([ids[1]])
})

test('a paused workflow lets nothing begin, and all that waited begins once it is resumed', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, {})
  const worker = newWorker()
  const [running] = (await startIn(session, workflow, undefined)) as [string]
  await takeTickets(database, workflow)
  await claim(session, worker, [running])
  await session.call('pause_workflow', workflow, 'ada', 'the mail server is down')
  const ids = await startIn(session, workflow, ...Array.from({ length: 30 }, () => undefined))
  expect(await take(session, workflow)).toEqual([])
  expect(await settle(session, worker, [{ id: running, token: 1, outcome: 'done' }])).toEqual([])

  expect(await session.call('resume_workflow', workflow)).toEqual([{ resume_workflow: true }])
  const begun: string[] = []
  for (let round = 0; begun.length < ids.length && round < 10; round += 1)
    begun.push(...(await take(session, workflow)))
  expect(begun.toSorted()).toEqual(ids)
  // Nothing is limited any more, and nothing is left of it.
  await session.call('mend_lines', 100)
  expect(await session.query('select from holdfast.limits where workflow = $1', [workflow])).toEqual([])
  expect(await session.query('select from holdfast.lines where workflow = $1', [workflow])).toEqual([])
})

test('LIMIT-07: an operator goes back to the limits of older code', async () => {
  const session = await connect(database)
  const workflow = name()
  const item = (fingerprint: string, concurrency: number): object => ({
    workflow,
    fingerprint,
    policy: { limits: { isFair: false, concurrency } },
  })
  await session.call('see_definitions', [item('older', 1)])
  await session.call('see_definitions', [item('newer', 5)])
  expect(await session.call('apply_definitions', [item('older', 1)])).toEqual([{ apply_definitions: [workflow] }])
  expect(await session.call('see_definitions', [item('newer', 5)])).toHaveLength(1)
  await startIn(session, workflow, undefined, undefined)
  expect(await take(session, workflow)).toHaveLength(1)
})

const refused = [
  { limits: { concurrency: 0 }, says: 'concurrency must be a whole number, 1 or more.' },
  { limits: { concurrency: '3' }, says: 'concurrency must be a whole number, 1 or more.' },
  { limits: { rate: { limit: 1 } }, says: 'rate must be { limit, perMs }, whole numbers, 1 or more.' },
  { limits: { rate: { limit: 1, perMs: 0 } }, says: 'rate must be { limit, perMs }, whole numbers, 1 or more.' },
  { limits: { concurency: 1 }, says: 'concurency is not the name of a limit.' },
  { limits: { isFair: null }, says: 'isFair must be true or false.' },
  { limits: { ratePerGroup: { limit: 1, perMs: 1 } }, says: 'ratePerGroup needs a workflow whose runs have groups.' },
]

test.each(refused)('limits of $limits are refused: $says', async ({ limits, says }) => {
  const session = await connect(database)
  const workflow = name()
  await session.call('see_definitions', [
    { workflow, fingerprint: 'x', policy: { hasGroup: false, limits: { isFair: false } } },
  ])
  await expect(session.call('set_limits', workflow, limits, null)).rejects.toMatchObject({
    code: 'WF008',
    message: says,
  })
  await expect(session.call('set_limits', 'nowhere', {}, null)).rejects.toMatchObject({ code: 'WF002' })
})

test('a workflow without limits is claimed as ever beside one that has some', async () => {
  const session = await connect(database)
  const workflow = name()
  await define(session, workflow, { concurrency: 1 })
  const ids = await runningRuns(session, newWorker(), 3)
  expect(ids).toHaveLength(3)
})
