import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { ArgumentError, defineWorkflow, StepLimitError } from '../../src/index.ts'
import { loseWorker, quickTimings, triesOf } from '../attempts/record.ts'
import { turn } from '../execute/turn.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, recordingLogger, signal, startWorker } from '../support/worker.ts'

const database = useDatabase()

async function keptOf(id: string): Promise<unknown[]> {
  const { rows } = await database.query(
    'select key, kind, attempt from holdfast.steps where run_id = $1 order by seq',
    [id],
  )
  return rows
}

/** A body that fails the first time, whoever calls it. */
function failingOnce(): { readonly body: () => string; readonly bodies: () => number } {
  let bodies = 0
  const body = (): string => {
    bodies += 1
    if (bodies === 1) throw new Error('declined')
    return 'charged'
  }
  return { body, bodies: () => bodies }
}

const messageOf = (error: unknown): string => (error as Error).message

test('STEP-06: a failure that ends the attempt leaves its last error and tries, and the step runs again', async () => {
  const { body, bodies } = failingOnce()
  const workflow = defineWorkflow({
    name: 'ends the attempt',
    maxAttempts: 1,
    handler: (_, run) => run.step('charge', body),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const run = await client.start(workflow)
  await expect(client.result(run)).rejects.toMatchObject({ cause: { message: 'declined' } })
  expect(await keptOf(run.id)).toEqual([])
  expect(await triesOf(database, run)).toMatchObject([
    { key: 'charge', attempt: 1, tries: 1, error: { message: 'declined' } },
  ])
  await client.retry(run)
  expect(await client.result(run)).toBe('charged')
  expect(bodies()).toBe(2)
})

test('STEP-06: a failure the handler went past is kept before the next body begins, and thrown on every replay', async () => {
  const { body, bodies } = failingOnce()
  const branches: string[] = []
  const inNext = signal()
  let isFixed = false
  const workflow = defineWorkflow({
    name: 'went past',
    lease: '1.5s',
    maxAttempts: 3,
    retry: { initial: 0 },
    handler: async (_, run) => {
      const branch = await run.step('charge', body).catch(messageOf)
      branches.push(branch)
      if (isFixed) return branch
      await run.step(`after ${branch}`, async () => {
        inNext.give()
        if (run.attempt === 1) await new Promise(() => undefined)
      })
      throw new Error('later')
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const run = await client.start(workflow)
  await inNext.promise
  // The process could end here.
  expect(await keptOf(run.id)).toEqual([{ key: 'charge', kind: 'failure', attempt: 1 }])
  await loseWorker(database, run)
  await expect(client.result(run)).rejects.toMatchObject({ cause: { message: 'later' } })
  expect(branches).toEqual(['declined', 'declined', 'declined'])
  expect(bodies()).toBe(1)

  isFixed = true
  await client.retry(run)
  expect(await client.result(run)).toBe('charged')
  expect(bodies()).toBe(2)
})

test.each(['retry', 'snooze'] as const)('STEP-06: a failure met before run.%s is not kept', async (how) => {
  const { body, bodies } = failingOnce()
  const workflow = defineWorkflow({
    name: `before ${how}`,
    handler: async (_, run) => await run.step('charge', body).catch(() => run[how](0)),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const run = await client.start(workflow)
  expect(await client.result(run)).toBe('charged')
  expect(bodies()).toBe(2)
  expect(await keptOf(run.id)).toEqual([{ key: 'charge', kind: 'answer', attempt: how === 'retry' ? 2 : 1 }])
})

test('names that could be mistaken or not be stored are refused, and count as no step', async () => {
  const names: unknown[] = ['', 'x'.repeat(201), 'a#2', 'a/b', '[now]', 'a]', 'a\0b', 'a\ud800', undefined, null, 7]
  const workflow = defineWorkflow({
    name: 'names',
    maxSteps: 2,
    handler: async (_, run) => {
      const refusals: unknown[] = []
      for (const name of names) {
        for (const call of [
          run.step(name as string, () => 'ran'),
          run.transaction(name as string, () => Promise.resolve('ran')),
        ]) {
          const error: unknown = await call.catch((thrown: unknown) => thrown)
          refusals.push(error instanceof ArgumentError ? error.field : error)
        }
      }
      await run.step('x'.repeat(200), () => 1)
      await run.step('grüße, 漢字 "quoted" \u{1F600}', () => 1)
      return refusals
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  expect(await client.result(await client.start(workflow))).toEqual(names.flatMap(() => ['name', 'name']))
})

test('a run past maxSteps fails for good with a StepLimitError', async () => {
  const lines = recordingLogger()
  let caught: unknown
  const workflow = defineWorkflow({
    name: 'limited',
    maxSteps: 4,
    handler: async (_, run) => {
      await run.uuid()
      for (let n = 1; n < 4; n += 1) await run.step('step', () => n)
      caught = await run.step('one more', () => 'ran').catch((error: unknown) => error)
      throw caught as Error
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings, logger: lines })
  const run = await client.start(workflow)
  await expect(client.result(run)).rejects.toMatchObject({ failure: 'rejected', cause: { code: 'STEP_LIMIT' } })
  expect(caught).toBeInstanceOf(StepLimitError)
  expect(await client.get(run)).toMatchObject({ attempt: 1 })
  expect(lines.lines.filter(({ message }) => message === 'Half of maxSteps is used.')).toHaveLength(1)
})

test('an idempotency key is the same for every try and attempt, distinct for every step, and fit for a header', async () => {
  const seen = new Map<string, Set<string>>()
  const names = [
    'send',
    'send',
    'grüße',
    'gr%C3%BC%C3%9Fe',
    'line\nbreak',
    'line%0Abreak',
    '\u{1F600}',
    ' ',
    'end',
    'end ',
  ]
  const workflow = defineWorkflow({
    name: 'idempotent',
    maxAttempts: 3,
    retry: { initial: 0 },
    handler: async (_, run) => {
      const calls = names.map((name) =>
        run.step(
          name,
          (step) => {
            seen.set(step.key, (seen.get(step.key) ?? new Set()).add(step.idempotencyKey))
            if (run.attempt < 3 || step.try < 2) throw new Error('again')
          },
          { retry: { initial: 0, maxTries: 2 } },
        ),
      )
      await Promise.all(calls)
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  const run = await client.start(workflow)
  await client.result(run)
  expect([...seen.keys()]).toHaveLength(names.length)
  expect([...seen.values()].map((keys) => keys.size)).toEqual(names.map(() => 1))
  const keys = [...seen.values()].flatMap((each) => [...each])
  expect(new Set(keys).size).toBe(names.length)
  for (const key of keys) {
    expect(key).toContain(run.id)
    expect(new Headers({ 'idempotency-key': key }).get('idempotency-key')).toBe(key)
  }
})

test("a body runs in its caller's async context, also one that had to wait for recorded outcomes", async () => {
  const context = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  const workflow = defineWorkflow({
    name: 'in context',
    handler: async (_, run) => {
      const recorded = context.run('recorded', () => run.step('recorded', () => seen.push(context.getStore())))
      if (run.attempt === 1) return await recorded.then(() => run.retry(0))
      const calls = ['a', 'b'].map((name) =>
        context.run(name, async () => {
          await run.step(name, () => seen.push(context.getStore()))
          await run.transaction('next', () => Promise.resolve(seen.push(context.getStore())))
          return context.getStore()
        }),
      )
      return await Promise.all(calls)
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings })
  expect(await client.result(await client.start(workflow))).toEqual(['a', 'b'])
  expect(seen.map(String).toSorted()).toEqual(['a', 'a', 'b', 'b', 'recorded'])
})

test('a call after the end of its claim begins nothing, never settles and is logged once', async () => {
  const logger = recordingLogger()
  const ended = signal()
  const late = signal<unknown>()
  let bodies = 0
  const workflow = defineWorkflow({
    name: 'too late',
    handler: (_, run) => {
      void ended.promise.then(async () => {
        const calls = [run.step('late', () => (bodies += 1)), run.step('later', () => (bodies += 1)), run.now()]
        for (let left = 50; left > 0; left -= 1) await turn()
        late.give(await Promise.race([...calls, Promise.resolve('none settled')]))
      })
      return 'done'
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [workflow], timings: quickTimings, logger })
  const run = await client.start(workflow)
  expect(await client.result(run)).toBe('done')
  ended.give()
  expect(await late.promise).toBe('none settled')
  expect(bodies).toBe(0)
  expect(logger.lines.filter(({ fields }) => fields.code === 'RAW_PROMISE')).toMatchObject([{ level: 'warn' }])
  expect(await keptOf(run.id)).toEqual([])
})
