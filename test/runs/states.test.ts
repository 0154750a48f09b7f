import { beforeAll, describe, expect, test, vi } from 'vitest'
import { promoteDue, sweepPass } from '../../src/db/calls.ts'
import { Database } from '../../src/db/database.ts'
import { defineWorkflow, type Client, type Run, type Workflow } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { finalStates, moves, states, type State } from '../../src/model/state.ts'
import { useDatabase, type TestDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'
import { fastTimings, openClient, signal, startWorker } from '../support/worker.ts'
import { allMoves, guardStates, seenMoves, type Move } from './state-guard.ts'

/** Moves by what a handler does, and by who looks on. */
const byWorking: readonly Move[] = [
  'nothing -> scheduled',
  'nothing -> waiting',
  'scheduled -> waiting',
  'waiting -> running',
  'running -> scheduled',
  'running -> waiting',
  'running -> suspended',
  'running -> done',
  'running -> failed',
  'running -> cancelled',
  'failed -> waiting',
  'cancelled -> waiting',
]

/** Moves of runs that nobody runs just then. */
const byWaiting: readonly Move[] = [
  'scheduled -> failed',
  'scheduled -> cancelled',
  'waiting -> failed',
  'waiting -> cancelled',
  'suspended -> waiting',
  'suspended -> failed',
  'suspended -> cancelled',
]

/** Made by a signal that comes while the run suspends. */
const bySignal: readonly Move[] = ['suspended -> running']

const untilAborted = (run: Run): Promise<unknown> =>
  new Promise((resolve) => run.abortSignal.addEventListener('abort', resolve))

interface Options {
  readonly deadline?: string
  readonly maxAttempts?: number
  readonly lease?: string
}

/** A workflow whose first claims do as they are told, one each; any later one returns. */
function first(name: string, acts: readonly ((run: Run) => unknown)[], options: Options = {}): Workflow<undefined> {
  let claims = 0
  return defineWorkflow({
    name,
    retry: { initial: 10, max: 10 },
    ...options,
    handler: async (_, run) => await acts[claims++]?.(run),
  })
}

const throwing = (): never => {
  throw new Error('not yet')
}

/** A step that waits longer for its next try than a worker keeps in memory makes the run suspend. */
const suspending = (run: Run): Promise<unknown> => run.step('call', throwing, { retry: { initial: '1h', max: '1h' } })

async function until(client: Client, id: string, state: State): Promise<void> {
  await vi.waitFor(async () => expect(await client.get(id)).toMatchObject({ state }), { timeout: 10_000 })
}

/** Every run has ended, or waits for something that one can see: its time, or a worker by its ticket. */
async function expectNoneForgotten(database: TestDatabase): Promise<void> {
  const { rows } = await database.query(
    `select r.workflow, r.state from holdfast.runs r
     where r.state <> all($1)
       and not (r.state in ('scheduled', 'suspended') and r.due_at is not null)
       and not (r.state = 'waiting' and exists (
         select from holdfast_queue._private_jobs t
         where t.key = r.id || ':' || r.token and t.attempts < t.max_attempts))`,
    [finalStates],
  )
  expect(rows).toEqual([])
}

test('RUN-02: the moves that these tests make are those of the state table', () => {
  expect([...byWorking, ...byWaiting, ...bySignal].toSorted()).toEqual(allMoves.toSorted())
})

describe('RUN-02: the database', () => {
  const database = useDatabase()
  beforeAll(() => guardStates(database))

  test('RUN-02: it knows the states of the state table, and the guard refuses every other move', async () => {
    const { rows } = await database.query<{ definition: string }>(
      `select pg_get_constraintdef(oid) as definition from pg_constraint where conname = 'runs_state_check'`,
    )
    expect([...(rows[0]?.definition ?? '').matchAll(/'(\w+)'/g)].map(([, state]) => state)).toEqual([...states])

    const { id } = await openClient(database).start(first('nobody runs it', []))
    for (const state of states.filter((each) => each !== 'waiting' && !moves.waiting.includes(each))) {
      await expect(database.query('update holdfast.runs set state = $2 where id = $1', [id, state])).rejects.toThrow(
        `No run may move waiting -> ${state}.`,
      )
    }
    await database.query('drop trigger guard_state on holdfast.runs')
    await expect(database.query(`update holdfast.runs set state = 'lost'`)).rejects.toThrow('runs_state_check')
  })
})

describe('RUN-02: runs at work', () => {
  const database = useDatabase()
  beforeAll(() => guardStates(database))

  // Without NOTIFY, every move waits for somebody's next look, and the cancelled handler for the next renewal.
  test('RUN-02: whatever becomes of their claims, runs move along the table and end', { timeout: 90_000 }, async () => {
    const client = openClient(database)
    const begun = signal()
    const [lostBegun, lostLastBegun] = [signal(), signal()]
    const begunBy = (its: typeof begun) => async (run: Run) => {
      its.give()
      await untilAborted(run)
    }
    const lost = first('loses its lease', [begunBy(lostBegun)], { lease: '200ms' })
    const lostLast = first('loses its last lease', [begunBy(lostLastBegun)], { lease: '200ms', maxAttempts: 1 })
    const ending = [
      first('returns', []),
      first('throws', [throwing, throwing]),
      first('retries', [(run) => run.retry(0), (run) => run.retry(10)]),
      first('snoozes', [(run) => run.snooze(0), (run) => run.snooze(10)]),
      lost,
    ]
    const failing = [
      first('rejects', [(run) => run.fail('as it is')]),
      first('uses its attempts up', [throwing, throwing], { maxAttempts: 2 }),
      first('is over its deadline', [untilAborted], { deadline: '4s' }),
      lostLast,
    ]
    const cancelled = first('is cancelled', [begunBy(begun)])
    const suspended = first('suspends', [suspending])
    const workflows = [...ending, ...failing, cancelled, suspended]
    const start = async (workflow: Workflow<undefined>, delay?: number): Promise<string> =>
      (await client.start(workflow, undefined, { delay })).id

    // This one neither renews its leases nor notices that they are over.
    const careless = { ...fastTimings, renewAfter: 100, giveUpAfter: 100 }
    await startWorker(database, { workflows: [lost, lostLast], concurrency: 2, timings: careless })
    const ends = [await start(lost), await start(ending[0] as Workflow<undefined>, 50)]
    const fails = [await start(lostLast)]
    await Promise.all([lostBegun.promise, lostLastBegun.promise])
    await startWorker(database, { workflows })
    for (const workflow of ending.filter((each) => each !== lost)) ends.push(await start(workflow))
    for (const workflow of failing.filter((each) => each !== lostLast)) fails.push(await start(workflow))
    const [cancels, suspends] = [await start(cancelled), await start(suspended)]
    await begun.promise
    await client.cancel(cancels)

    await Promise.all(ends.map((id) => client.result(id)))
    await Promise.all(fails.map((id) => until(client, id, 'failed')))
    await until(client, suspends, 'suspended')
    await expectNoneForgotten(database)
    for (const id of [...fails, cancels]) {
      await client.retry(id)
      await client.result(id)
    }
    await expectNoneForgotten(database)
    expect(await seenMoves(database)).toEqual(byWorking.toSorted())
  })

  test('RUN-02: a worker that stops gives its runs back, and another ends them', async () => {
    const client = openClient(database)
    const begun = signal()
    const workflow = first('is given back', [
      async (run) => {
        begun.give()
        await untilAborted(run)
      },
    ])
    const worker = await startWorker(database, { workflows: [workflow] })
    const { id } = await client.start(workflow)
    await begun.promise
    await worker.stop({ grace: 0 })
    await until(client, id, 'waiting')
    await expectNoneForgotten(database)
    await startWorker(database, { workflows: [workflow] })
    await client.result(id)
  })
})

describe('RUN-02: runs that nobody runs', () => {
  const database = useDatabase()
  beforeAll(() => guardStates(database))

  /** Sets the database's clock, the only one that decides. */
  const passTime = (minutes: number): Promise<unknown> =>
    database.query(`create or replace function holdfast._now() returns timestamptz language sql volatile as $$
      select clock_timestamp() + interval '${minutes} minutes' $$`)

  test('RUN-02: they move along the table by their time, their deadline or a cancel', async () => {
    const client = openClient(database)
    const suspended = first('suspends', [suspending, suspending, suspending], { deadline: '2h' })
    const waiting = first('waits', [], { deadline: '2h' })
    const start = async (workflow: Workflow<undefined>, delay?: string): Promise<string> =>
      (await client.start(workflow, undefined, { delay })).id

    const worker = await startWorker(database, { workflows: [suspended] })
    const sleepers = [await start(suspended), await start(suspended), await start(suspended)] as const
    for (const id of sleepers) await until(client, id, 'suspended')
    await worker.stop()
    const [cancelled, ...others] = sleepers
    for (const id of [cancelled, await start(waiting), await start(waiting, '1h')]) await client.cancel(id)
    const overdue = [...others, await start(waiting), await start(waiting, '90m')]
    await expectNoneForgotten(database)

    const own = new Database({ ...optionsFor(database), clock: systemClock })
    try {
      await passTime(70)
      await promoteDue(own, 1)
      expect((await client.list({ workflow: suspended.name, state: 'waiting' })).items).toHaveLength(1)
      await expectNoneForgotten(database)
      await passTime(240)
      await sweepPass(own, 'fail_overdue', 10)
    } finally {
      await own.close()
    }
    for (const id of overdue) expect(await client.get(id)).toMatchObject({ state: 'failed', failure: 'deadline' })
    expect(await seenMoves(database)).toEqual(expect.arrayContaining([...byWaiting]))
  })
})
