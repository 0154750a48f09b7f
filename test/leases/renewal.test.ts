import { expect, test, vi } from 'vitest'
import { defineWorkflow, type Workflow } from '../../src/index.ts'
import { defaultTimings } from '../../src/worker/timings.ts'
import { connect } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import { HandClock } from '../support/hand-clock.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

interface Lease {
  readonly until: string
  /** What the lease was when the claim began, or was last renewed. */
  readonly length: string
}

async function leaseOf(runId: string): Promise<Lease | undefined> {
  const { rows } = await database.query<Lease>(
    `select r.lease_until::text as until, (r.lease_until - greatest(r.claimed_at, w.seen_at))::text as length
     from holdfast.runs r join holdfast.workers w on w.id = r.worker_id where r.id = $1`,
    [runId],
  )
  return rows[0]
}

interface Held {
  readonly workflow: Workflow<undefined>
  readonly entered: Promise<void>
  readonly go: () => void
  readonly attempts: readonly number[]
  readonly aborts: readonly unknown[]
}

/** Waits until a claim's lease has been renewed to that long after its beginning. */
async function renewedFor(runId: string, stretch: string): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await database.query(
      `select from holdfast.runs where id = $1 and lease_until > claimed_at + $2::interval + interval '1.5 s'`,
      [runId, stretch],
    )
    expect(rows).toHaveLength(1)
  }, 10_000)
}

/** Handlers that stay in until they are let go, and count how often they were entered. */
function held(name: string, lease?: string): Held {
  const [entered, go] = [signal(), signal()]
  const attempts: number[] = []
  const aborts: unknown[] = []
  const workflow = defineWorkflow({
    name,
    lease,
    handler: async (_, run) => {
      attempts.push(run.attempt)
      run.abortSignal.addEventListener('abort', () => aborts.push(run.abortSignal.reason))
      entered.give()
      await go.promise
      return await run.step('last', () => run.attempt)
    },
  })
  return { workflow, entered: entered.promise, go: go.give, attempts, aborts }
}

test('LEASE-02: by default a lease lasts 30 s and is renewed every 15 s, so that a handler of 70 s runs once', async () => {
  const { workflow, entered, go, attempts } = held('of 70 s')
  const clock = new HandClock()
  await startWorker(database, { workflows: [workflow], clock, timings: defaultTimings })
  const client = openClient(database)
  const started = await client.start(workflow)
  await entered
  let lease = await leaseOf(started.id)
  expect(lease?.length).toBe('00:00:30')

  for (let renewals = 0; renewals < 4; renewals += 1) {
    await vi.waitFor(() => expect(clock.pending).toContain(15_000), 10_000)
    await clock.advance(14_999)
    expect(await leaseOf(started.id)).toEqual(lease)
    await clock.advance(1)
    await vi.waitFor(async () => expect((await leaseOf(started.id))?.until).not.toBe(lease?.until), 10_000)
    lease = await leaseOf(started.id)
    expect(lease?.length).toBe('00:00:30')
  }
  await vi.waitFor(() => expect(clock.pending).toContain(15_000), 10_000)
  await clock.advance(10_000)
  go()
  expect(await client.result(started)).toBe(1)
  expect(attempts).toEqual([1])
})

test('LEASE-02: a handler longer than several leases runs once, although another worker would take it', async () => {
  const { workflow, entered, go, attempts, aborts } = held('of several leases', '1.5s')
  await startWorker(database, { workflows: [workflow], concurrency: 1 })
  const client = openClient(database)
  const started = await client.start(workflow)
  await entered
  await startWorker(database, { workflows: [workflow] })
  await renewedFor(started.id, '3 s')
  go()
  expect(await client.result(started)).toBe(1)
  expect({ attempts, aborts }).toEqual({ attempts: [1], aborts: [] })
})

test("LEASE-14: a row locked by somebody's slow transaction ends no other run's lease", async () => {
  const locked = held('locked', '1.5s')
  const others = held('others', '1.5s')
  const workflows = [locked.workflow, others.workflow]
  const client = openClient(database)
  await startWorker(database, { workflows, concurrency: 2 })
  const started = [await client.start(locked.workflow), await client.start(others.workflow)] as const
  await Promise.all([locked.entered, others.entered])
  await startWorker(database, { workflows })

  const slow = await connect(database)
  await slow.query('begin')
  await slow.query('select from holdfast.runs where id = $1 for update', [started[0].id])
  await vi.waitFor(async () => {
    const { rows } = await database.query(
      `select from holdfast.runs r, holdfast.runs o where r.id = $1 and o.id = $2
       and now() > r.lease_until and o.lease_until > o.claimed_at + interval '3 s'`,
      [started[0].id, started[1].id],
    )
    expect(rows).toHaveLength(1)
  }, 10_000)
  await slow.query('rollback')
  locked.go()
  others.go()
  expect(await client.result(started[1])).toBe(1)
  expect(others).toMatchObject({ attempts: [1], aborts: [] })
  // The locked run itself could not be renewed for too long. Its worker gave it back, or another took it over.
  expect([1, 2]).toContain(await client.result(started[0]))
  expect(locked.attempts).toHaveLength(2)
})

test('LEASE-14: a transaction longer than several leases does not end its own', async () => {
  const [entered, go] = [signal(), signal()]
  const attempts: number[] = []
  const workflow = defineWorkflow({
    name: 'long transaction',
    lease: '1.5s',
    handler: (_, run) =>
      run.transaction('long', async (tx) => {
        attempts.push(run.attempt)
        await tx.query('create table if not exists public.written (attempt integer)')
        await tx.query('insert into public.written values ($1)', [run.attempt])
        entered.give()
        await go.promise
      }),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], concurrency: 1 })
  const started = await client.start(workflow)
  await entered.promise
  await startWorker(database, { workflows: [workflow] })
  await renewedFor(started.id, '2 s')
  go.give()
  await client.result(started)
  expect(attempts).toEqual([1])
  expect((await database.query('select * from written')).rows).toEqual([{ attempt: 1 }])
})

test('LEASE-14: a lock on its row that is shorter than its lease costs a run neither a step nor its outcome', async () => {
  const { workflow, entered, go, attempts, aborts } = held('briefly locked')
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow] })
  const started = await client.start(workflow)
  await entered
  const lock = (ms: number) =>
    database.query(
      `do $$ begin perform from holdfast.runs where id = '${started.id}' for update; perform pg_sleep(${ms / 1_000}); end $$`,
    )
  const during = lock(700)
  await vi.waitFor(async () => {
    const { rows } = await database.query(`select from pg_stat_activity where wait_event = 'PgSleep'`)
    expect(rows).toHaveLength(1)
  }, 10_000)
  go()
  await during
  expect(await client.result(started)).toBe(1)
  expect({ attempts, aborts }).toEqual({ attempts: [1], aborts: [] })
})
