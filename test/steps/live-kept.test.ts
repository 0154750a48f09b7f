import { expect, test } from 'vitest'
import { defineWorkflow, type Client, type Run, type RunRef, type Workflow } from '../../src/index.ts'
import type { WorkerCore } from '../../src/worker/worker.ts'
import { loseWorker, quickTimings } from '../attempts/record.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

interface Scene {
  readonly client: Client
  readonly worker: WorkerCore
  readonly workflow: Workflow<undefined>
  readonly run: RunRef
}

/** How a first claim ends after its steps were kept, what the test does then, and which attempt the next claim is of. */
interface Way {
  readonly end: (run: Run) => unknown
  readonly next?: (scene: Scene) => Promise<unknown>
  readonly attempt: number
}

const never = (): Promise<never> => new Promise(() => undefined)

const ways: Readonly<Record<string, Way>> = {
  'a throw': { end: () => Promise.reject(new Error('broken')), attempt: 2 },
  'run.retry': { end: (run) => run.retry(0), attempt: 2 },
  'run.snooze': { end: (run) => run.snooze(0), attempt: 1 },
  'a lost claim': { end: never, next: ({ run }) => loseWorker(database, run), attempt: 2 },
  'the stop of its worker': {
    end: never,
    next: async ({ worker, workflow }) => {
      await worker.stop({ grace: 0 })
      await startWorker(database, { workflows: [workflow], timings: quickTimings })
    },
    attempt: 1,
  },
  'client.retry of a failed run': {
    end: (run) => run.fail('for good'),
    next: async ({ client, run }) => {
      await expect(client.result(run)).rejects.toMatchObject({ failure: 'rejected' })
      await client.retry(run)
    },
    attempt: 1,
  },
}

test.each(Object.entries(ways))('STEP-01: what was kept is not run again after %s', async (name, way) => {
  const begun: string[] = []
  const seen: unknown[] = []
  const reachedEnd = signal()
  const body = (key: string) => () => ({ key, nth: begun.push(key), at: new Date() })
  const workflow = defineWorkflow({
    name,
    lease: '1.5s',
    retry: { initial: 0 },
    handler: async (_, run) => {
      const kept = [
        await run.step('step', body('step')),
        await run.transaction('transaction', () => Promise.resolve(body('transaction')())),
        ...(await Promise.all([1, 2].map(() => run.step('twin', body('twin'))))),
        await run.uuid(),
        await run.now(),
        await run.random(),
      ]
      seen.push(kept)
      if (seen.length > 1) return run.attempt
      reachedEnd.give()
      return way.end(run)
    },
  })
  const client = openClient(database)
  const worker = await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const run = await client.start(workflow)
  await reachedEnd.promise
  await way.next?.({ client, worker, workflow, run })
  expect(await client.result(run)).toBe(way.attempt)
  expect(begun).toEqual(['step', 'transaction', 'twin', 'twin'])
  expect(seen).toHaveLength(2)
  expect(seen[1]).toEqual(seen[0])
})

test('STEP-01: the answers of a long chain of claims are each made once', async () => {
  const begun: number[] = []
  const workflow = defineWorkflow({
    name: 'a link a claim',
    retry: { initial: 0 },
    handler: async (_, run) => {
      const answers: number[] = []
      for (let n = 0; n < 9; n += 1) {
        const before = begun.length
        answers.push(await run.step('link', () => begun.push(n)))
        if (begun.length > before) return n % 2 === 0 ? run.snooze(0) : run.retry(0)
      }
      return answers
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  expect(await client.result(await client.start(workflow))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
})

test('STEP-09: each memo names its attempt and claim, and each claim tells what it ran and how much it recalled', async () => {
  const inThird = signal()
  let claims = 0
  const fail = (why: string) => (): never => {
    throw new Error(why)
  }
  const workflow = defineWorkflow({
    name: 'told apart',
    lease: '1.5s',
    retry: { initial: 0 },
    handler: async (_, run) => {
      claims += 1
      await run.step('first', () => 1)
      if (claims === 1) return run.snooze(0)
      await run.step('passed', fail('passed')).catch(() => undefined)
      await run.transaction('second', () => Promise.resolve(2))
      if (claims === 2) throw new Error('again')
      await run.uuid()
      if (claims === 3) {
        inThird.give()
        await never()
      }
      await run.step('third', () => 3)
      await run.step('passed at the end', fail('passed at the end')).catch(() => undefined)
      return 'done'
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const run = await client.start(workflow)
  await inThird.promise
  await loseWorker(database, run)
  expect(await client.result(run)).toBe('done')

  const { rows } = await database.query(
    `select c.attempt, c.token, c.outcome, c.recalled, array_agg(s.key order by s.seq) as ran,
       bool_and(s.attempt = c.attempt) as agree
     from holdfast.all_claims c left join holdfast.steps s on s.run_id = c.run_id and s.token = c.token
     where c.run_id = $1 group by 1, 2, 3, 4 order by c.token`,
    [run.id],
  )
  expect(rows).toEqual([
    { attempt: 1, token: 1, outcome: 'snooze', recalled: 0, ran: ['first'], agree: true },
    { attempt: 1, token: 3, outcome: 'retry', recalled: 1, ran: ['passed', 'second'], agree: true },
    // Whoever lost its claim can no longer say how far it came, only what it kept.
    { attempt: 2, token: 5, outcome: 'lease_lost', recalled: null, ran: ['[uuid]'], agree: true },
    { attempt: 3, token: 7, outcome: 'done', recalled: 4, ran: ['third', 'passed at the end'], agree: true },
  ])
})

test('STEP-09: after client.retry the claims and memos of the earlier series are still told apart', async () => {
  let isFixed = false
  const workflow = defineWorkflow({
    name: 'fixed',
    maxAttempts: 1,
    handler: async (_, run) => {
      await run.step('before', () => 1)
      if (!isFixed) throw new Error('broken')
      return await run.step('after', () => 2)
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const run = await client.start(workflow)
  await expect(client.result(run)).rejects.toMatchObject({ failure: 'attempts_exhausted' })
  isFixed = true
  await client.retry(run)
  expect(await client.result(run)).toBe(2)
  const { rows } = await database.query(
    `select c.attempt, c.token, c.outcome, c.recalled, s.key
     from holdfast.all_claims c join holdfast.steps s on s.run_id = c.run_id and s.token = c.token
     where c.run_id = $1 order by c.token`,
    [run.id],
  )
  expect(rows).toEqual([
    { attempt: 1, token: 1, outcome: 'failed', recalled: 0, key: 'before' },
    { attempt: 1, token: 3, outcome: 'done', recalled: 1, key: 'after' },
  ])
})
