import { expect, test } from 'vitest'
import { defineWorkflow, LeaseLostError, type Run } from '../../src/index.ts'
import { loseWorker, quickTimings } from '../attempts/record.ts'
import { claimByHand, memo as newMemo } from '../support/claim-by-hand.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { HandClock } from '../support/hand-clock.ts'
import { keep, memo, newWorker, runningRuns } from '../support/runs.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

/** How a claim comes to keep an outcome under the key `contested`. */
const ways: Readonly<Record<'step' | 'transaction', (run: Run, body: () => Promise<string>) => Promise<string>>> = {
  step: (run, body) => run.step('contested', body),
  transaction: (run, body) =>
    run.transaction('contested', async (tx) => {
      const answer = await body()
      await tx.query('insert into public.written (run_id, answer) values ($1, $2)', [run.id, answer])
      return answer
    }),
}

test.each([
  ['step', 'before'],
  ['step', 'after'],
  ['transaction', 'before'],
  ['transaction', 'after'],
] as const)(
  'STEP-02: a %s that comes to be kept %s that of the claim which took over is refused, and the other answer is kept',
  async (way, when) => {
    await database.query('create table if not exists public.written (run_id uuid, answer text)')
    const keepIn = ways[way]
    const [inFirst, first, inSecond, second, kept, end] = [signal(), signal(), signal(), signal(), signal(), signal()]
    const refused = signal<unknown>()
    let claims = 0
    const workflow = defineWorkflow({
      name: `${way} ${when}`,
      lease: '1.5s',
      handler: async (_, run) => {
        claims += 1
        const [answer, entered, go] =
          claims === 1 ? (['first', inFirst, first] as const) : (['second', inSecond, second] as const)
        const keeping = keepIn(run, async () => {
          entered.give()
          await go.promise
          return answer
        })
        if (answer === 'first') refused.give(await keeping.catch((error: unknown) => error))
        await keeping
        kept.give()
        await end.promise
        return await keeping
      },
    })
    const client = openClient(database)
    // Its clock stands still, so that no renewal tells it of its loss: only the refusal can.
    await startWorker(database, { workflows: [workflow], concurrency: 1, clock: new HandClock() })
    const run = await client.start(workflow)
    await inFirst.promise
    await startWorker(database, { workflows: [workflow], timings: quickTimings })
    await loseWorker(database, run)
    await inSecond.promise
    if (when === 'after') {
      second.give()
      await kept.promise
    }
    first.give()
    expect(await refused.promise).toBeInstanceOf(LeaseLostError)
    expect(await refused.promise).toMatchObject({ reason: 'superseded' })
    second.give()
    end.give()
    expect(await client.result(run)).toBe('second')

    const { rows } = await database.query('select key, token, value from holdfast.steps where run_id = $1', [run.id])
    expect(rows).toEqual([{ key: 'contested', token: 3, value: 'second' }])
    const written = await database.query('select answer from written where run_id = $1', [run.id])
    expect(written.rows).toEqual(way === 'transaction' ? [{ answer: 'second' }] : [])
  },
)

test('STEP-02: of two sessions that keep one step under one token the first wins, and the other is told its value', async () => {
  const [one, two] = [await connect(database), await connect(database)]
  const [id] = (await runningRuns(one, newWorker(), 1)) as [string]
  await one.query('begin')
  expect(await keep(one, [memo(id, 1, { value: '"one"', seq: 1 })])).toEqual([])
  const waiting = await two.block(keep(two, [memo(id, 1, { value: '"two"', seq: 2 })]))
  await one.query('commit')
  expect(await waiting.done).toEqual([{ n: 1, lost: null, kind: 'answer', value: '"one"', types: null }])
  expect(await one.query('select value from holdfast.steps where run_id = $1', [id])).toEqual([{ value: 'one' }])
})

test('STEP-02: if the first is undone after all, the other wins', async () => {
  const [one, two] = [await connect(database), await connect(database)]
  const [id] = (await runningRuns(one, newWorker(), 1)) as [string]
  await one.query('begin')
  await keep(one, [memo(id, 1, { value: '"one"', seq: 1 })])
  const waiting = await two.block(keep(two, [memo(id, 1, { value: '"two"', seq: 2 })]))
  await one.query('rollback')
  expect(await waiting.done).toEqual([])
  expect(await one.query('select value from holdfast.steps where run_id = $1', [id])).toEqual([{ value: 'two' }])
})

test('STEP-02: in a batch, a step that was there already keeps no other from being kept', async () => {
  const session = await connect(database)
  const [one, two, three] = (await runningRuns(session, newWorker(), 3)) as [string, string, string]
  await keep(session, [memo(two, 1, { value: '"first"', seq: 1 })])
  const batch = [one, two, three].map((id) => memo(id, 1, { value: '"second"', seq: 2 }))
  expect(await keep(session, batch)).toEqual([{ n: 2, lost: null, kind: 'answer', value: '"first"', types: null }])
  const kept = await session.query('select run_id, value from holdfast.steps where run_id = any($1)', [
    [one, two, three],
  ])
  expect(kept).toHaveLength(3)
  expect(kept).toEqual(
    expect.arrayContaining([
      { run_id: one, value: 'second' },
      { run_id: two, value: 'first' },
      { run_id: three, value: 'second' },
    ]),
  )
})

test('a batch that holds one step twice is refused: it is not tried for ever', async () => {
  const session = await connect(database)
  const [id] = (await runningRuns(session, newWorker(), 1)) as [string]
  await expect(keep(session, [memo(id, 1), memo(id, 1)])).rejects.toMatchObject({ code: '23505' })
})

test('STEP-02: a step of a transaction that finds its place taken gets the other value, be it all the same', async () => {
  const session = await connect(database)
  const [id] = (await runningRuns(session, newWorker(), 1)) as [string]
  await keep(session, [memo(id, 1)])
  expect(await keep(session, [memo(id, 1)])).toEqual([])
  expect(await keep(session, [memo(id, 1)], true)).toMatchObject([{ n: 1, lost: null, value: '1' }])
})

test('STEP-02: callers that race for a hundred keys under one token all see what is stored', async () => {
  const { id } = await openClient(database).start(defineWorkflow({ name: 'raced', handler: () => undefined }))
  const one = await claimByHand(database, id)
  const two = await claimByHand(database, id, { workerId: one.workerId, isRepeated: true })
  expect(two.claim.token).toBe(one.claim.token)
  const keys = Array.from({ length: 100 }, (_, index) => `key ${String(index).padStart(2, '0')}`)
  const keepAll = (held: typeof one, order: readonly string[], seq: number): Promise<Map<string, string>> =>
    Promise.all(
      order.map(async (key, index): Promise<[string, string]> => {
        const stored = await held.journal.keep(newMemo(key, JSON.stringify(`${key} of ${seq}`), seq + index))
        return [key, stored.value]
      }),
    ).then((entries) => new Map(entries))
  const [seenByOne, seenByTwo] = await Promise.all([
    keepAll(one, keys, 1),
    keepAll(two, keys.slice(50).concat(keys.slice(0, 50)), 1001),
  ])
  const { rows } = await database.query<{ key: string; value: string }>(
    'select key, value::text from holdfast.steps where run_id = $1 order by key',
    [id],
  )
  const stored = new Map(rows.map(({ key, value }) => [key, value]))
  expect([...stored.keys()]).toHaveLength(100)
  for (const key of stored.keys()) {
    expect([key, seenByOne.get(key), seenByTwo.get(key)]).toEqual([key, stored.get(key), stored.get(key)])
  }
})
