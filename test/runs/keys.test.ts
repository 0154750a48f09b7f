import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineWorkflow, KeyReusedError, type Client, type Started, type Workflow } from '../../src/index.ts'
import { createDatabase, useDatabase } from '../support/database.ts'
import { openClient, startWorker } from '../support/worker.ts'

const database = useDatabase()

const echo = defineWorkflow({ name: 'echo', input: z.unknown(), handler: (input) => input })

async function idsOf(key: string): Promise<unknown[]> {
  const { rows } = await database.query<{ id: string }>('select id from holdfast.runs where key = $1', [key])
  return rows.map(({ id }) => id)
}

/** Eight clients, each with connections of its own. */
const eight = (): Client[] => Array.from({ length: 8 }, () => openClient(database))

/** Expects that one of the starts made a run, and that the others name it. */
function expectOneRun(started: readonly Started[]): string {
  const made = started.filter((each) => each.created)
  expect(made).toHaveLength(1)
  const ids = new Set(started.map((each) => each.id))
  expect(ids).toEqual(new Set([made[0]?.id]))
  return [...ids][0] as string
}

test('RUN-05: while the run of a key lives, starting it again adds nothing and gives that run', async () => {
  const client = openClient(database)
  const first = await client.start(echo, 1, { key: 'lives' })
  expect(first).toMatchObject({ created: true, state: 'waiting' })
  expect(await client.start(echo, 1, { key: 'lives' })).toEqual({ ...first, created: false })
  expect(await client.start(echo, 1, { key: 'lives', delay: '1h', priority: 5 })).toEqual({ ...first, created: false })
  expect(await idsOf('lives')).toEqual([first.id])
  expect(await client.get({ workflow: echo, key: 'lives' })).toMatchObject({ id: first.id, key: 'lives', priority: 0 })
})

test('RUN-05: a key stays taken for `dedupe` after its run ended, however it ended, and is free then', async () => {
  const later = await createDatabase()
  const passTime = (time: string): Promise<unknown> =>
    later.query(`create or replace function holdfast._now() returns timestamptz language sql volatile as $$
      select clock_timestamp() + interval '${time}' $$`)
  try {
    const client = openClient(later)
    const byDefault = defineWorkflow({ name: 'kept a day', handler: () => undefined })
    const failing = defineWorkflow({ name: 'fails', dedupe: '2h', handler: (_, run) => run.fail('as it is') })
    const cancelled = defineWorkflow({ name: 'is cancelled', dedupe: '2h', handler: () => undefined })
    const undeduped = defineWorkflow({ name: 'free at once', dedupe: 0, handler: () => undefined })
    const start = (workflow: Workflow<undefined>): Promise<Started> =>
      client.start(workflow, undefined, { key: 'order 1' })

    const worker = await startWorker(later, { workflows: [byDefault, failing, undeduped] })
    const [done, failed, gone, free] = [
      await start(byDefault),
      await start(failing),
      await start(cancelled),
      await start(undeduped),
    ]
    await client.cancel(gone)
    for (const run of [done, failed, gone, free]) await client.result(run).catch(() => undefined)
    await worker.stop()

    expect(await start(undeduped)).toMatchObject({ created: true })
    for (const [state, workflow, first] of [
      ['done', byDefault, done],
      ['failed', failing, failed],
      ['cancelled', cancelled, gone],
    ] as const) {
      expect(await start(workflow)).toEqual({ id: first.id, created: false, state })
    }
    await passTime('1 hour 59 minutes')
    expect(await start(failing)).toMatchObject({ id: failed.id, created: false })
    await passTime('2 hours 1 minute')
    for (const workflow of [failing, cancelled]) expect(await start(workflow)).toMatchObject({ created: true })
    await passTime('23 hours 59 minutes')
    expect(await start(byDefault)).toMatchObject({ id: done.id, created: false, state: 'done' })
    await passTime('24 hours 1 minute')
    const second = await start(byDefault)
    expect(second).toMatchObject({ created: true })
    expect(await client.get({ workflow: byDefault, key: 'order 1' })).toMatchObject({ id: second.id })
    expect(await start(byDefault)).toEqual({ ...second, created: false })
    await client.close()
  } finally {
    await later.drop()
  }
})

test('RUN-06: eight concurrent starts with one key make one run, from eight processes or from one', async () => {
  const apart = await Promise.all(eight().map((client) => client.start(echo, 1, { key: 'apart' })))
  const client = openClient(database)
  const together = await Promise.all(Array.from({ length: 8 }, () => client.start(echo, 1, { key: 'together' })))
  for (const [key, started] of [
    ['apart', apart],
    ['together', together],
  ] as const) {
    expect(await idsOf(key)).toEqual([expectOneRun(started)])
  }
})

test.each([
  ['rolls back', 'rollback'],
  ['commits', 'commit'],
])('RUN-06: eight concurrent starts with one key make one run where the first of them %s', async (key, ending) => {
  const [first, ...others] = eight() as [Client, ...Client[]]
  const tx = await database.pool.connect()
  try {
    await tx.query('begin')
    const started = await first.start(echo, 1, { key, tx })
    let settled = 0
    const waiting = others.map((client) => client.start(echo, 1, { key }).finally(() => (settled += 1)))
    await vi.waitFor(async () => {
      const { rows } = await database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      expect(rows).not.toEqual([])
    }, 15_000)
    // Longer than a call of theirs waits for a lock at a time.
    await tx.query('select pg_sleep(0.4)')
    expect(settled).toBe(0)
    await tx.query(ending)

    const rest = await Promise.all(waiting)
    const isKept = ending === 'commit'
    const id = expectOneRun(isKept ? [started, ...rest] : rest)
    expect(id === started.id).toBe(isKept)
    expect(await idsOf(key)).toEqual([id])
  } finally {
    tx.release(true)
  }
})

test('RUN-06: eight concurrent starts with a key that has just become free make one run', async () => {
  const client = openClient(database)
  const free = defineWorkflow({ name: 'free', dedupe: 0, handler: () => undefined })
  const first = await client.start(free, undefined, { key: 'again' })
  await client.cancel(first)
  const started = await Promise.all(eight().map((each) => each.start(free, undefined, { key: 'again' })))
  expect(expectOneRun(started)).not.toBe(first.id)
})

test('RUN-07: the same key in two workflows is two runs', async () => {
  const client = openClient(database)
  const other = defineWorkflow({ name: 'other', handler: () => undefined })
  const [one, two] = [
    await client.start(echo, 1, { key: 'shared' }),
    await client.start(other, undefined, { key: 'shared' }),
  ]
  expect([one.created, two.created]).toEqual([true, true])
  expect(one.id).not.toBe(two.id)
})

test.each([
  ['a number', 1, 2],
  ['a property', { a: 1 }, { a: 1, b: 2 }],
  ['what JSON cannot tell', new Date(0), new Date(0).toISOString()],
  ['nothing and something', undefined, {}],
])('RUN-07: the same key with another input is an error unless allowed: %s', async (key, input, another) => {
  const client = openClient(database)
  const first = await client.start(echo, input, { key })
  expect(await client.start(echo, input, { key })).toMatchObject({ id: first.id, created: false })
  const error = await client.start(echo, another, { key }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(KeyReusedError)
  expect(error).toMatchObject({
    code: 'KEY_REUSED',
    field: 'key',
    remedy: expect.stringContaining('allowDifferentInput') as string,
  })
  expect(await client.start(echo, another, { key, allowDifferentInput: true })).toEqual({ ...first, created: false })
  expect(await client.get(first)).toMatchObject({ input })
})
