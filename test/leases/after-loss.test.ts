import { beforeEach, expect, test } from 'vitest'
import { defineWorkflow, LeaseLostError, type Run, type Workflow } from '../../src/index.ts'
import { expire, sweepLeases } from '../support/claim-by-hand.ts'
import { useDatabase } from '../support/database.ts'
import { HandClock } from '../support/hand-clock.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

/** Bodies that ran although their claim was lost. */
const begun: string[] = []

beforeEach(() => void begun.splice(0))

/** Every call on `run` with a body, caught one by one as a stubborn handler would. Answers what each threw. */
async function goOnRegardless(run: Run): Promise<unknown[]> {
  const begin = (what: string) => (): Promise<number> => Promise.resolve(begun.push(what))
  const calls = [
    () => run.step('step', begin('step')),
    () => run.step('step with retries', begin('retries'), { retry: { initial: '1ms' }, timeout: '1s' }),
    () => run.transaction('transaction', begin('transaction')),
    () => run.now(),
    () => run.random(),
    () => run.uuid(),
    () => Promise.race([run.step('race', begin('race')), run.step('other', begin('other'))]),
  ]
  const thrown: unknown[] = []
  for (const call of calls) await call().catch((error: unknown) => thrown.push(error))
  expect(thrown).toHaveLength(calls.length)
  return thrown
}

/** Ends the claim, as any worker's sweep would, without the holder noticing. */
async function loseRun(runId: string): Promise<void> {
  await expire(database, runId)
  expect(await sweepLeases(database)).toBe(1)
}

function claimToLose(
  name: string,
  body: (run: Run, go: Promise<void>) => Promise<unknown>,
): { workflow: Workflow<undefined>; entered: Promise<void>; go: () => void; finished: Promise<unknown> } {
  const [entered, go] = [signal(), signal()]
  const finished = signal<unknown>()
  const workflow = defineWorkflow({
    name,
    lease: '1.5s',
    handler: async (_, run) => {
      if (run.attempt > 1) return
      entered.give()
      finished.give(await body(run, go.promise).catch((error: unknown) => error))
    },
  })
  return { workflow, entered: entered.promise, go: go.give, finished: finished.promise }
}

test('LEASE-07: once a call was refused no later step of that claim begins, whatever the handler catches', async () => {
  const { workflow, entered, go, finished } = claimToLose('refused once', async (run, told) => {
    await told
    const refused = await run.step('first', () => begun.push('first')).catch((error: unknown) => error)
    return [refused, ...(await goOnRegardless(run))]
  })
  await startWorker(database, { workflows: [workflow], concurrency: 1, clock: new HandClock() })
  const { id } = await openClient(database).start(workflow)
  await entered
  await loseRun(id)
  go()

  const thrown = (await finished) as unknown[]
  // The body that found out had begun before anybody here could know.
  expect(begun).toEqual(['first'])
  expect(new Set(thrown).size).toBe(1)
  expect(thrown[0]).toBeInstanceOf(LeaseLostError)
  expect(thrown[0]).toMatchObject({ reason: 'not_found' })
})

test('LEASE-07: a loss that the renewal tells of aborts the signal, and no step begins after it', async () => {
  const { workflow, entered, finished } = claimToLose('told by the renewal', async (run) => {
    const aborted = signal<unknown>()
    run.abortSignal.addEventListener('abort', () => aborted.give(run.abortSignal.reason))
    return [await aborted.promise, ...(await goOnRegardless(run))]
  })
  const clock = new HandClock()
  await startWorker(database, { workflows: [workflow], concurrency: 1, clock })
  const { id } = await openClient(database).start(workflow)
  await entered
  await loseRun(id)
  await clock.advance(500)

  const thrown = (await finished) as unknown[]
  expect(begun).toEqual([])
  expect(new Set(thrown).size).toBe(1)
  expect(thrown[0]).toBeInstanceOf(LeaseLostError)
})

test('LEASE-07: a transaction that waits for a session when the lease is lost does not begin', async () => {
  const held = signal()
  const inFirst = signal()
  const { workflow, entered, finished } = claimToLose('waits for a session', async (run) => {
    const first = run.transaction('first', async () => {
      inFirst.give()
      await held.promise
      return begun.push('first')
    })
    await inFirst.promise
    const second = run.transaction('second', () => Promise.resolve(begun.push('second')))
    const outcomes = await Promise.allSettled([first, second])
    return outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as unknown))
  })
  const clock = new HandClock()
  // Half of two sessions may hold transactions.
  const worker = await startWorker(database, { workflows: [workflow], concurrency: 1, poolSize: 2, clock })
  const { id } = await openClient(database).start(workflow)
  await entered
  await inFirst.promise
  await loseRun(id)
  await clock.advance(500)
  expect(await finished).toMatchObject([{ reason: 'not_found' }, { reason: 'not_found' }])
  held.give()
  // Its sessions are closed when all transactions have given theirs back.
  await worker.stop()
  expect(begun).toEqual(['first'])
})

test('LEASE-07: a step that waits for its next try when the lease is lost is not tried again', async () => {
  const tried = signal()
  const { workflow, entered, finished } = claimToLose('waits for a try', async (run) => {
    const body = (): never => {
      begun.push('try')
      tried.give()
      throw new Error('not yet')
    }
    return await run.step('flaky', body, { retry: { initial: '900ms', jitter: 0 } })
  })
  const clock = new HandClock()
  await startWorker(database, { workflows: [workflow], concurrency: 1, clock })
  const { id } = await openClient(database).start(workflow)
  await entered
  await tried.promise
  await loseRun(id)
  await clock.advance(500)
  expect(await finished).toBeInstanceOf(LeaseLostError)
  await clock.advance(5_000)
  expect(begun).toEqual(['try'])
})
