import { beforeAll, describe, expect, test, vi } from 'vitest'
import { sweepPass } from '../../src/db/calls.ts'
import { Database } from '../../src/db/database.ts'
import { defineWorkflow, type Client, type Run, type Workflow } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { finalStates, moves, states, type State } from '../../src/model/state.ts'
import { useDatabase, type TestDatabase } from '../support/database.ts'
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

/** A workflow whose first claims do as they are told, one each; the next one returns. */
function first(name: string, acts: readonly ((run: Run) => unknown)[], options: Options = {}): Workflow<undefined> {
  let claims = 0
  return defineWorkflow({
    name,
    retry: { initial: 10, max: 10 },
    ...options,
    handler: async (_, run) => await acts[claims++]?.(run),
  }) as Workflow<undefined>
}

const throwing = (): never => {
  throw new Error('not yet')
}

/** A step that waits longer for its next try than a worker keeps in memory makes the run suspend. */
const suspending = (run: Run): Promise<unknown> => run.step('call', throwing, { retry: { initial: '1h', max: '1h' } })

async function until(id: string, state: State): Promise<void> {
  await vi.waitFor(async () => expect(await client.get(id)).toMatchObject({ state }), { timeout: 5_000 })
}

/** Every run has ended, or waits for something that one can see: its time, or a worker by its ticket. */
async function expectNoneForgotten(): Promise<void> {
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

test('RUN-02: the database knows the states of the state table, and the guard refuses any other move', async () => {
  const { rows } = await database.query<{ definition: string }>(
    `select pg_get_constraintdef(oid) as definition from pg_constraint where conname = 'runs_state_check'`,
  )
  expect([...(rows[0]?.definition ?? '').matchAll(/'(\w+)'/g)].map(([, state]) => state)).toEqual([...states])
  expect([...byWorking, ...byWaiting, ...bySignal].toSorted()).toEqual(allMoves.toSorted())

  const { id } = await client.start(first('nobody runs it', []))
  const move = (state: string): Promise<unknown> =>
    database.query('update holdfast.runs set state = $2 where id = $1', [id, state])
  for (const state of states.filter((each) => each !== 'waiting' && !moves.waiting.includes(each))) {
    await expect(move(state)).rejects.toThrow(`No run may move waiting -> ${state}.`)
  }
  await expect(database.query(`update holdfast.runs set state = 'lost', token = 0`)).rejects.toThrow()
})

test('RUN-02: whatever becomes of their claims, runs move along the table and end', async () => {
  const started = signal()
  const held = async (run: Run): Promise<void> => {
    started.give()
    await untilAborted(run)
  }
  const runs = {
    returns: first('returns', []),
    later: first('is due later', []),
    throws: first('throws', [throwing, throwing]),
    retries: first('retries', [(run) => run.retry(0), (run) => run.retry(10)]),
    snoozes: first('snoozes', [(run) => run.snooze(0), (run) => run.snooze(10)]),
    rejects: first('rejects', [(run) => run.fail('as it is')]),
    exhausted: first('uses its attempts up', [throwing, throwing], { maxAttempts: 2 }),
    overdue: first('is over its deadline', [untilAborted], { deadline: '100ms' }),
    cancelled: first('is cancelled', [held]),
    suspends: first('suspends', [suspending]),
    lost: first('loses its lease', [untilAborted], { lease: '200ms' }),
    lostLast: first('loses its last lease', [untilAborted], { lease: '200ms', maxAttempts: 1 }),
  }
  const ids = {} as Record<keyof typeof runs, string>
  for (const name of Object.keys(runs) as (keyof typeof runs)[]) {
    ids[name] = (await client.start(runs[name], undefined, name === 'later' ? { delay: 50 } : {})).id
  }
  await expectNoneForgotten()

  // This one neither renews its leases nor notices that they are over.
  const careless = { ...fastTimings, renewAfter: 100, giveUpAfter: 100 }
  await startWorker(database, { workflows: [runs.lost, runs.lostLast], concurrency: 2, timings: careless })
  await until(ids.lost, 'running')
  await until(ids.lostLast, 'running')
  await startWorker(database, { workflows: Object.values(runs) })
  await started.promise
  await client.cancel(ids.cancelled)

  const [failing, ending] = [['rejects', 'exhausted', 'overdue', 'lostLast'] as const, ['returns', 'later', 'throws', 'retries', 'snoozes', 'lost'] as const]
  await Promise.all(ending.map((name) => client.result(ids[name])))
  await Promise.all(failing.map((name) => until(ids[name], 'failed')))
  await until(ids.suspends, 'suspended')
  await expectNoneForgotten()

  for (const name of [...failing, 'cancelled'] as const) {
    await client.retry(ids[name])
    await client.result(ids[name])
  }
  await expectNoneForgotten()
  expect(await seenMoves(database)).toEqual(byWorking.toSorted())
})

test('RUN-02: a worker that stops gives its runs back, and another ends them', async () => {
  const begun = signal()
  const stopped = first('is given back', [
    async (run) => {
      begun.give()
      await untilAborted(run)
    },
  ])
  const worker = await startWorker(database, { workflows: [stopped] })
  const { id } = await client.start(stopped)
  await begun.promise
  await worker.stop({ grace: 0 })
  await until(id, 'waiting')
  await expectNoneForgotten()
  await startWorker(database, { workflows: [stopped] })
  await client.result(id)
})

test('RUN-02: runs that nobody runs move along the table too, by their time, their deadline or a cancel', async () => {
  const inTime = { deadline: '2h' }
  const suspended = first('suspends', [suspending, suspending, suspending], inTime)
  const waiting = first('waits', [], inTime)
  const start = async (workflow: Workflow<undefined>, delay?: string): Promise<string> =>
    (await client.start(workflow, undefined, { delay })).id

  const worker = await startWorker(database, { workflows: [suspended] })
  const [wakes, sleepsOn, forgetful] = [await start(suspended), await start(suspended), await start(suspended)]
  for (const id of [wakes, sleepsOn, forgetful]) await until(id, 'suspended')
  await worker.stop()
  const cancelled = [forgetful, await start(waiting), await start(waiting, '1h')]
  for (const id of cancelled) await client.cancel(id)
  const [idle, scheduled] = [await start(waiting), await start(waiting, '150m')]
  await expectNoneForgotten()

  const own = new Database({ connectionString: database.connectionString, clock: systemClock })
  const promote = (): Promise<unknown> => own.call('promote_due', [1])
  const passTime = (hours: number): Promise<unknown> =>
    database.query(`create or replace function holdfast._now() returns timestamptz language sql volatile as $$
      select clock_timestamp() + interval '${hours} hours' $$`)
  try {
    await passTime(1.5)
    await promote()
    expect((await client.list({ state: 'waiting' })).map(({ id }) => id)).toContain(idle)
    await expectNoneForgotten()
    await passTime(4.6)
    await sweepPass(own, 'fail_overdue', 10)
  } finally {
    await own.close()
  }
  for (const id of [wakes, sleepsOn, idle, scheduled]) {
    expect(await client.get(id)).toMatchObject({ state: 'failed', failure: 'deadline' })
  }
  expect(await seenMoves(database)).toEqual(expect.arrayContaining([...byWaiting]))
})
