import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorkflow } from '../../src/index.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()
const first = defineWorkflow({
  name: 'first',
  input: z.number(),
  handler: (n) => n,
  maxLease: '1m',
  retry: { initial: '1s', jitter: 0 },
})
const second = defineWorkflow({ name: 'second', input: z.number(), handler: (n) => n, maxAttempts: 1 })

async function expire(id: string): Promise<void> {
  await database.query("update holdfast.runs set lease_until = now() - interval '1 s' where id = $1", [id])
  await database.query('select holdfast._keep_house()')
}

test('LEASE-13: reserve gives runs in the order of the workflows named, then by priority and time, up to max', async () => {
  const client = openClient(database)
  const seconds = await client.startMany(second, [{ input: 1 }, { input: 2, priority: 9 }])
  const firsts = await client.startMany(first, [{ input: 3 }, { input: 4 }])
  const workflows = ['first', 'second', 'unheard of']
  const one = await client.reserve({ workflows })
  expect(one).toMatchObject([{ id: firsts[0]?.id, workflow: 'first', input: 3, attempt: 1, maxAttempts: 10, token: 1 }])
  const rest = await client.reserve({ workflows, max: 10 })
  expect(rest.map(({ id }) => id)).toEqual([firsts[1]?.id, seconds[1]?.id, seconds[0]?.id])
  expect(await client.reserve({ workflows })).toEqual([])
  // Nobody looks for them in the queue any more.
  expect((await database.query('select from holdfast_queue._private_jobs')).rowCount).toBe(0)
  for (const reserved of [...one, ...rest]) await client.ack(reserved, { got: reserved.input })
  expect(await client.result(firsts[0]!)).toEqual({ got: 3 })
})

test('LEASE-13: a lease that is asked for too long is cut to the longest of its workflow, and extend too', async () => {
  const client = openClient(database)
  await client.start(first, 1)
  const [reserved] = await client.reserve({ workflows: ['first'], lease: '1h' })
  const lasts = async (until: Date): Promise<number> => {
    const { rows } = await database.query<{ ms: number }>('select (extract(epoch from now()) * 1000)::float8 as ms')
    return Math.round((until.getTime() - (rows[0]?.ms ?? 0)) / 10_000)
  }
  expect(await lasts(reserved!.leaseExpiresAt)).toBe(6)
  expect(await lasts(await client.extend(reserved!, '20m'))).toBe(6)
  await client.ack(reserved!)
})

test('LEASE-13: reserve waits for a run, and answers none when its wait is over', async () => {
  const client = openClient(database)
  expect(await client.reserve({ workflows: ['first'], wait: 50 })).toEqual([])
  const reserving = client.reserve({ workflows: ['first'], wait: '20s' })
  const run = await client.start(first, 5)
  const [reserved] = await reserving
  expect(reserved?.id).toBe(run.id)
  await client.ack(reserved!)
  const closing = openClient(database)
  const last = closing.reserve({ workflows: ['first'], wait: '1m' })
  await closing.close()
  await expect(last.catch(() => [])).resolves.toEqual([])
})

test('LEASE-13: nack makes it due again by its backoff, after what is said, or never', async () => {
  const client = openClient(database)
  const run = await client.start(first, 1)
  const reserve = async () => (await client.reserve({ workflows: ['first'] }))[0]!
  const dueIn = async (): Promise<number> => {
    const { rows } = await database.query<{ ms: number }>(
      'select (extract(epoch from due_at - now()) * 1000)::float8 as ms from holdfast.runs where id = $1',
      [run.id],
    )
    return Math.round((rows[0]?.ms ?? 0) / 1_000)
  }
  await client.nack(await reserve(), { reason: 'first' })
  expect(await client.get(run)).toMatchObject({ state: 'scheduled', attempt: 1, reason: 'first' })
  expect(await dueIn()).toBe(1)
  const makeDue = () => database.query(`update holdfast.runs set due_at = now() where id = $1`, [run.id])
  await makeDue()
  await client.nack(await reserve())
  expect(await dueIn()).toBe(2)
  await makeDue()
  await client.nack(await reserve(), { after: '1h' })
  expect(await dueIn()).toBe(3_600)
  await makeDue()
  await client.nack(await reserve(), { permanent: true, reason: 'hopeless' })
  expect(await client.get(run)).toMatchObject({ state: 'failed', failure: 'rejected', reason: 'hopeless', attempt: 4 })

  const last = await client.start(second, 1)
  await client.nack((await client.reserve({ workflows: ['second'] }))[0]!)
  expect(await client.get(last)).toMatchObject({ state: 'failed', failure: 'attempts_exhausted' })
})

test('LEASE-13: what is said of a lost lease is refused for one of two reasons, and repeated words are taken', async () => {
  const client = openClient(database)
  await client.start(first, 1)
  const [stale] = await client.reserve({ workflows: ['first'] })
  await expire(stale!.id)
  const refusals = (reason: string) =>
    Promise.all(
      [() => client.ack(stale!), () => client.nack(stale!), () => client.extend(stale!, '50s')].map((call) =>
        expect(call()).rejects.toMatchObject({ code: 'LEASE_LOST', reason }),
      ),
    )
  await refusals('not_found')
  const [fresh] = await client.reserve({ workflows: ['first'] })
  expect(fresh).toMatchObject({ id: stale!.id, attempt: 2, token: 3 })
  await refusals('superseded')
  const { rows } = await database.query<{ until: Date }>(
    'select lease_until as until from holdfast.runs where id = $1',
    [fresh!.id],
  )
  expect(rows[0]?.until).toEqual(fresh?.leaseExpiresAt)
  await client.ack(fresh!, 'mine')
  await client.ack(fresh!, 'mine')
  await expect(client.nack(fresh!)).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'not_found' })
  await expect(client.ack({ ...fresh!, id: randomUUID() })).rejects.toMatchObject({ reason: 'not_found' })
  expect(await client.result(stale!.id)).toBe('mine')
})

test('LEASE-13: where there is no worker, whoever reserves keeps house: ends, promotes, fails and removes', async () => {
  const client = openClient(database)
  const brief = defineWorkflow({ name: 'brief', deadline: '1h', keepDone: 0, dedupe: 0, handler: () => undefined })
  const [lapsed, later, overdue, old] = (
    await client.startMany(brief, [{}, { delay: '1h' }, { delay: '1h' }, { delay: '1h' }])
  ).map(({ id }) => id) as [string, string, string, string]
  await client.reserve({ workflows: ['brief'] })
  await client.cancel(old)
  await database.query(`update holdfast.runs set lease_until = now() where id = $1`, [lapsed])
  await database.query(`update holdfast.runs set due_at = now() where id = $1`, [later])
  await database.query(`update holdfast.runs set deadline_at = now() where id = $1`, [overdue])
  await database.query(`update holdfast.runs set ended_at = now() - interval '11 minutes' where id = $1`, [old])
  const reserved = await client.reserve({ workflows: ['brief'], max: 10 })
  expect(reserved.map(({ id, attempt }) => [id, attempt])).toEqual([
    [lapsed, 2],
    [later, 1],
  ])
  expect(await client.get(overdue)).toMatchObject({ state: 'failed', failure: 'deadline' })
  expect(await client.get(old)).toBeUndefined()
})

test("LEASE-13: whoever reserves ends no worker's lease", async () => {
  const entered = signal()
  const busy = defineWorkflow({
    name: 'busy',
    handler: async (_, run) => {
      entered.give()
      await once(run.abortSignal, 'abort')
    },
  })
  await startWorker(database, { workflows: [busy] })
  const client = openClient(database)
  const run = await client.start(busy)
  await entered.promise
  await database.query(`begin; update holdfast.runs set lease_until = now() where id = '${run.id}';
    select holdfast._keep_house(); commit`)
  expect(await client.get(run)).toMatchObject({ state: 'running', attempt: 1 })
})

test('LEASE-13: two who reserve at once never get the same run', async () => {
  const client = openClient(database)
  await client.startMany(
    first,
    Array.from({ length: 60 }, (_, n) => ({ input: n })),
  )
  const clients = Array.from({ length: 6 }, () => openClient(database))
  const got = await Promise.all(clients.map((each) => each.reserve({ workflows: ['first'], max: 20 })))
  const ids = got.flat().map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const rest = await client.reserve({ workflows: ['first'], max: 60 })
  expect(ids.length + rest.length).toBe(60)
})

test('LEASE-13: a run that somebody has locked is passed over', async () => {
  const client = openClient(database)
  const [locked, free] = await client.startMany(first, [{ input: 1, priority: 9 }, { input: 2 }])
  const holder = await connect(database)
  await holder.query('begin')
  await holder.query('select from holdfast.runs where id = $1 for update', [locked?.id])
  const [reserved] = await client.reserve({ workflows: ['first'] })
  expect(reserved?.id).toBe(free?.id)
  await holder.query('commit')
})

test.each([
  ['no workflows', { workflows: [] }, 'workflows'],
  ['a name that is none', { workflows: [7] }, 'workflows'],
  ['none at most', { workflows: ['first'], max: 0 }, 'max'],
  ['too short a lease', { workflows: ['first'], lease: '1ms' }, 'lease'],
  ['an unknown option', { workflows: ['first'], limit: 1 }, 'limit'],
])('LEASE-13: reserve refuses %s', async (_, options, field) => {
  await expect(openClient(database).reserve(options as never)).rejects.toMatchObject({ code: 'ARGUMENT', field })
})

test('LEASE-13: ack, nack and extend refuse what reserve has not answered', async () => {
  const client = openClient(database)
  for (const given of [undefined, 'run', { id: 'x', token: 1 }, { id: randomUUID() }]) {
    await expect(client.ack(given as never)).rejects.toMatchObject({ code: 'ARGUMENT', field: 'reserved' })
  }
})
