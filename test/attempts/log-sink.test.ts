import { expect, test } from 'vitest'
import { defineWorkflow, type LogFields, type Logger } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { openClient, recordingLogger, startWorker } from '../support/worker.ts'
import { quickTimings } from './record.ts'
import { recordUnhandled } from './unhandled.ts'

const database = useDatabase()
const unhandled = recordUnhandled()

function fault(): never {
  throw new Error('the sink is full')
}

function sink(write: (fields: LogFields, message: string) => unknown): Logger {
  return { debug: write, info: write, warn: write, error: write }
}

const sinks: Readonly<Record<string, Logger>> = {
  throws: sink(fault),
  rejects: sink(() => Promise.reject(new Error('the sink is full'))),
  // oxlint-disable-next-line unicorn/no-thenable -- somebody's thenable
  'answers a thenable that throws': sink(() => ({ then: fault })),
  'lacks its functions': {} as Logger,
  'cannot even be asked': new Proxy(sink(fault), { get: fault }),
}

test.each(Object.entries(sinks))('a log sink that %s touches no run and no process', async (how, logger) => {
  const logging = defineWorkflow({
    name: `logging to one that ${how}`,
    handler: async (_, run) => {
      for (const level of ['debug', 'info', 'warn', 'error'] as const) run.log[level]({ level }, 'a line')
      // The runtime writes a line of its own about this one.
      const late = await run.step('late', () => new Promise(() => undefined), { timeout: '20ms' }).catch(() => 'late')
      return [run.attempt, late]
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [logging], timings: quickTimings, logger })
  expect(await client.result(await client.start(logging))).toEqual([1, 'late'])
  expect(unhandled).toEqual([])
})

test('OPS-07: a log line that cannot be written is lost alone', async () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  const lines: string[] = []
  // As most sinks do.
  const logger = sink((fields, message) => lines.push(JSON.stringify({ ...fields, message })))
  const logging = defineWorkflow({
    name: 'logging what cannot be written',
    handler: (_, run) => {
      run.log.info({ big: 1n }, 'a bigint')
      run.log.info(cyclic, 'a cycle')
      run.log.info(Object.defineProperty({}, 'broken', { get: fault, enumerable: true }), 'a getter that throws')
      run.log.info(undefined as never, 'no fields')
      run.log.info({}, 'a line')
      return run.attempt
    },
  })
  const client = openClient(database)
  await startWorker(database, { workflows: [logging], timings: quickTimings, logger })
  const run = await client.start(logging)
  expect(await client.result(run)).toBe(1)
  const written = lines.map((line) => JSON.parse(line) as LogFields).filter(({ runId }) => runId === run.id)
  expect(written.map(({ message }) => message)).toEqual(['no fields', 'a line'])
  expect(unhandled).toEqual([])
})

test('every line of a handler carries its run, workflow, attempt and token', async () => {
  const logger = recordingLogger()
  const logging = defineWorkflow({ name: 'logging', handler: (_, run) => run.log.info({ own: 1 }, 'a line') })
  const client = openClient(database)
  await startWorker(database, { workflows: [logging], timings: quickTimings, logger })
  const run = await client.start(logging)
  await client.result(run)
  expect(logger.lines).toContainEqual({
    level: 'info',
    message: 'a line',
    fields: expect.objectContaining({ own: 1, runId: run.id, workflow: 'logging', attempt: 1, token: 1 }) as object,
  })
})
