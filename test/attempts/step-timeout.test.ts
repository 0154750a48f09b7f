import { expect, test } from 'vitest'
import { defineWorkflow, TimeoutError } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, recordingLogger, startWorker } from '../support/worker.ts'
import { quickTimings } from './record.ts'

const database = useDatabase()

const never = (): Promise<never> => new Promise(() => undefined)

test('a step past its timeout has its signal aborted and is tried again, and the log names what is left over', async () => {
  const tries: { try: number; signal: AbortSignal }[] = []
  const patient = defineWorkflow({
    name: 'patient',
    handler: async (_, run) => {
      const answer = await run.step(
        'look',
        async ({ try: number, abortSignal }) => {
          tries.push({ try: number, signal: abortSignal })
          return number === 1 ? await never() : number
        },
        { timeout: '100ms', retry: { initial: 0, maxTries: 2 } },
      )
      return { answer, attempt: run.attempt, isAborted: run.abortSignal.aborted }
    },
  })
  const logger = recordingLogger()
  const client = openClient(database)
  await startWorker(database, { workflows: [patient], timings: quickTimings, logger })
  const run = await client.start(patient)
  expect(await client.result(run)).toEqual({ answer: 2, attempt: 1, isAborted: false })
  expect(tries.map((each) => [each.try, each.signal.aborted])).toEqual([
    [1, true],
    [2, false],
  ])
  expect(tries[0]?.signal.reason).toBeInstanceOf(TimeoutError)
  expect(logger.lines).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      fields: expect.objectContaining({ runId: run.id, step: 'look' }) as object,
    }),
  )
})

test('a step whose tries all time out fails the attempt with a TimeoutError that names it', async () => {
  const slow = defineWorkflow({
    name: 'slow-step',
    maxAttempts: 1,
    handler: (_, run) => run.step('look', never, { timeout: '50ms' }),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [slow], timings: quickTimings })
  const run = await client.start(slow)
  await expect(client.result(run)).rejects.toMatchObject({
    failure: 'attempts_exhausted',
    cause: { code: 'TIMEOUT', message: expect.stringContaining('look') as string },
  })
})

test('a transaction past its timeout is undone and tried again, though its query is still under way', async () => {
  await database.query('create table written (try integer)')
  const slow = defineWorkflow({
    name: 'slow-transaction',
    handler: (_, run) =>
      run.transaction(
        'write',
        async (tx, step) => {
          await tx.query('insert into public.written values ($1)', [step.try])
          if (step.try === 1) await tx.query('select pg_sleep(60)')
          return step.try
        },
        { timeout: '200ms', retry: { initial: 0 } },
      ),
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [slow], timings: quickTimings })
  const run = await client.start(slow)
  expect(await client.result(run, { timeout: '10s' })).toBe(2)
  expect((await database.query('select try from written')).rows).toEqual([{ try: 2 }])
})
