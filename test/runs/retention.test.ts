import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()
const short = defineWorkflow({ name: 'kept shortly', keep: 0, keepDone: 0, dedupe: 0, handler: () => 'done' })
const kept = defineWorkflow({
  name: 'kept',
  maxAttempts: 2,
  retry: { initial: 0 },
  handler: async (_, run) => {
    const answer = await run.step('answers', () => run.attempt)
    await run.step('fails', () => Promise.reject(new Error('no'))).catch(() => undefined)
    if (answer < 10) throw new Error(`attempt ${run.attempt}`)
  },
})

/** As if so much time had gone by since the end of all runs. */
async function age(interval: string): Promise<void> {
  await database.query('update holdfast.runs set ended_at = ended_at - $1::interval where ended_at is not null', [
    interval,
  ])
}

async function prune(): Promise<number> {
  const { rows } = await database.query<{ count: number }>('select holdfast.prune_runs(500) as count')
  return rows[0]?.count ?? 0
}

async function rowsOf(run: { id: string }): Promise<number> {
  const tables = ['runs', 'steps', 'tries', 'claims', 'signals', 'progress', 'keys']
  const counts = tables.map(
    (table) => `(select count(*) from holdfast.${table} where ${table === 'runs' ? 'id' : 'run_id'} = $1)`,
  )
  const { rows } = await database.query<{ count: number }>(`select (${counts.join(' + ')})::int as count`, [run.id])
  return rows[0]?.count ?? 0
}

test('RUN-14: a failed run keeps cause, error, attempts and memos for a week, and then goes with all that is its', async () => {
  const worker = await startWorker(database, { workflows: [kept] })
  const client = openClient(database)
  const run = await client.start(kept, undefined, { key: 'kept' })
  await expect(client.result(run)).rejects.toThrow('attempt 2')
  await worker.stop()
  await age('6 days 23 hours')
  await prune()
  expect(await client.get(run)).toMatchObject({
    state: 'failed',
    failure: 'attempts_exhausted',
    attempt: 2,
    lastError: { message: 'attempt 2' },
  })
  expect((await client.list({ state: 'failed' })).items[0]?.id).toBe(run.id)
  expect(await rowsOf(run)).toBeGreaterThan(3)
  await age('2 hours')
  expect(await prune()).toBe(1)
  expect(await client.get(run)).toBeUndefined()
  expect(await rowsOf(run)).toBe(0)
})

test('RUN-14: a retried run goes on under its id with its memos, or afresh without them', async () => {
  const again = defineWorkflow({
    name: 'again',
    maxAttempts: 1,
    handler: async (_, run) => {
      const bodies = await run.step('counted', () => (calls += 1))
      if (!isGood) throw new Error('not yet')
      return bodies
    },
  })
  let calls = 0
  let isGood = false
  await startWorker(database, { workflows: [again] })
  const client = openClient(database)
  const run = await client.start(again)
  await expect(client.result(run)).rejects.toThrow('not yet')
  await client.retry(run)
  await expect(client.result(run)).rejects.toThrow('not yet')
  expect(calls).toBe(1)
  expect(await client.get(run)).toMatchObject({ attempt: 1 })
  isGood = true
  await client.retry(run, { fresh: true })
  expect(await client.result(run)).toBe(2)
  await expect(client.retry(run)).rejects.toMatchObject({ code: 'INVALID_STATE' })
  const cancelled = await client.start(again, undefined, { delay: '1h' })
  await client.cancel(cancelled)
  await client.retry(cancelled)
  expect(await client.result(cancelled)).toBe(3)
})

test('RUN-14: a run may be deleted ten minutes after its end, not sooner, and not while its key is taken', async () => {
  const worker = await startWorker(database, { workflows: [short, kept] })
  const client = openClient(database)
  const [run, keyed] = [await client.start(short), await client.start(kept, undefined, { key: 'still taken' })]
  await client.result(run)
  await client.result(keyed).catch(() => undefined)
  await worker.stop()
  const waiting = await client.start(short)
  await expect(client.delete(waiting)).rejects.toMatchObject({ code: 'INVALID_STATE', field: 'run' })
  await expect(client.delete(run)).rejects.toMatchObject({
    code: 'INVALID_STATE',
    message: expect.stringMatching(/in (10m|9m\d\ds)/) as string,
  })
  await age('11 minutes')
  expect(await client.delete(run)).toBe(true)
  expect(await client.delete(run)).toBe(false)
  expect(await rowsOf(run)).toBe(0)
  await expect(client.delete(keyed)).rejects.toMatchObject({ code: 'INVALID_STATE' })
  await age('24 hours')
  expect(await client.delete(keyed)).toBe(true)
  await client.cancel(waiting)
})

test('RUN-14: nothing goes before ten minutes after its end, whatever keep says', async () => {
  const worker = await startWorker(database, { workflows: [short] })
  const client = openClient(database)
  const run = await client.start(short)
  await client.result(run)
  await worker.stop()
  await age('9 minutes')
  await prune()
  expect(await client.get(run)).toMatchObject({ state: 'done' })
  await age('2 minutes')
  await prune()
  expect(await client.get(run)).toBeUndefined()
})

test('RUN-14: a run whose time is over is not brought back, since its memos may be gone', async () => {
  const client = openClient(database)
  const run = await client.start(short, undefined, { delay: '1h' })
  await client.cancel(run)
  await age('11 minutes')
  await expect(client.retry(run)).rejects.toMatchObject({
    code: 'INVALID_STATE',
    message: expect.stringContaining('kept') as string,
  })
})

test('RUN-15: done runs go a day after their end, in bounded batches, and live ones stay', async () => {
  const client = openClient(database)
  const live = await client.start(short)
  const { rows } = await database.query<{ id: string }>(
    `insert into holdfast.runs (id, workflow, state, priority, max_attempts, created_at, due_at, ended_at)
     values (gen_random_uuid(), 'not so long done', 'done', 0, 1, now(), now(), now() - interval '23 hours') returning id`,
  )
  await database.query(
    `insert into holdfast.runs (id, workflow, state, priority, max_attempts, created_at, due_at, ended_at)
     select gen_random_uuid(), 'long done', 'done', 0, 1, now(), now(), now() - interval '25 hours' from generate_series(1, 1200)`,
  )
  const counts = [await prune(), await prune(), await prune(), await prune()]
  expect(counts.slice(0, 2)).toEqual([500, 500])
  expect(counts.at(-1)).toBe(0)
  expect(await client.get(live)).toMatchObject({ state: 'waiting' })
  expect(await client.get(rows[0]!.id)).toMatchObject({ state: 'done' })
  const { rowCount } = await database.query(`select from holdfast.runs where workflow = 'long done'`)
  expect(rowCount).toBe(0)
})

test('RUN-15: a run of many steps goes in pieces of so many rows, and is whole or over to whoever looks', async () => {
  const { rows } = await database.query<{ id: string }>(
    `insert into holdfast.runs (id, workflow, state, priority, max_attempts, created_at, due_at, ended_at)
     values (gen_random_uuid(), 'of many steps', 'done', 0, 1, now(), now(), now() - interval '25 hours') returning id`,
  )
  const id = rows[0]?.id ?? ''
  await database.query(
    `insert into holdfast.steps (run_id, key, kind, seq, ordinal, attempt, token, tries, kept_at, value)
     select $1, 's' || n, 'answer', n, n, 1, 1, 1, now(), '1' from generate_series(1, 12000) n`,
    [id],
  )
  const left: number[] = []
  for (let n = await rowsOf({ id }); n > 0; n = await rowsOf({ id })) {
    left.push(n)
    expect(await prune()).toBe(1)
  }
  expect(left).toEqual([12_001, 7_001, 2_001])
})

test('RUN-15: the sweep of a worker does it, and never waits for a run that somebody holds', async () => {
  const client = openClient(database)
  const [first, second] = [await client.start(short), await client.start(short)]
  await Promise.all([client.cancel(first), client.cancel(second)])
  await age('11 minutes')
  const holder = await connect(database)
  await holder.query('begin')
  await holder.query('select from holdfast.runs where id = $1 for update', [first.id])
  await startWorker(database, { workflows: [short] })
  await expect.poll(() => client.get(second)).toBeUndefined()
  await holder.query('commit')
  await expect.poll(() => client.get(first)).toBeUndefined()
})

test('RUN-15: a key goes with its run, and one that names another by now stays', async () => {
  const client = openClient(database)
  const run = await client.start(short, undefined, { key: 'renamed' })
  await client.cancel(run)
  const next = await client.start(short, undefined, { key: 'renamed' })
  expect(next.created).toBe(true)
  await age('11 minutes')
  await prune()
  expect(await client.get(run)).toBeUndefined()
  expect(await client.get({ workflow: short, key: 'renamed' })).toMatchObject({ id: next.id })
  await client.cancel(next)
})
