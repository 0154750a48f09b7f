import { AsyncLocalStorage } from 'node:async_hooks'
import { trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { createClient, defineWorkflow, type Run } from '../../src/index.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import { useDatabase } from '../support/database.ts'
import { names, optionsFor } from '../support/variant.ts'
import { openClient, recordingLogger, startWorker } from '../support/worker.ts'

/** Nothing in this process is an SDK's. */

const database = useDatabase()
const logger = recordingLogger()
const telemetry = new Telemetry({ schema: names.schema, log: logger })

test('TRACE-03: without an SDK no span is active, nothing of a trace is kept, and nothing is said of it', async () => {
  const active: unknown[] = []
  const look = (): void => void active.push(trace.getActiveSpan())
  const child = defineWorkflow({ name: 'child', handler: look })
  const flow = defineWorkflow({
    name: 'dark',
    retry: { initial: '1ms', jitter: 0 },
    handler: async (_, run) => {
      look()
      await run.step('look', look)
      await run.transaction('write', async () => look())
      await run.start(child)
      run.log.info({ mine: 1 }, 'A line of the handler.')
      if (run.attempt === 1) throw new Error('The first attempt.')
      return 'done'
    },
  })
  await startWorker(database, { workflows: [flow, child], telemetry, logger })
  const client = createClient({ ...optionsFor(database), migrate: 'off', logger })
  const started = await client.start(flow)
  expect(await client.result(started)).toBe('done')
  await expect.poll(async () => (await client.list({ workflow: 'child', state: 'done' })).items.length).toBe(1)

  expect(active).toEqual(Array.from({ length: 5 }, () => undefined))
  const { rows } = await database.query(
    'select distinct r.traceparent, r.tracestate, r.claim_trace, c.trace from holdfast.runs r join holdfast.all_claims c on c.run_id = r.id',
  )
  expect(rows).toEqual([{ traceparent: null, tracestate: null, claim_trace: null, trace: null }])
  const claims = (await client.get(started))?.claims
  expect(claims?.map(({ outcome, traceId, spanId, traceUrl }) => [outcome, traceId, spanId, traceUrl])).toEqual([
    ['done', undefined, undefined, undefined],
    ['retry', undefined, undefined, undefined],
  ])
  await client.close()
  expect(logger.lines.filter(({ level }) => level !== 'info')).toEqual([])
  const line = logger.lines.find(({ message }) => message === 'A line of the handler.')
  expect(Object.keys(line?.fields ?? {})).toEqual(['workerId', 'runId', 'workflow', 'attempt', 'token', 'mine'])
})

test("TRACE-03: what a user's AsyncLocalStorage holds around run.step is there in its body, held up or not", async () => {
  const storage = new AsyncLocalStorage<string>()
  const seen: string[] = []
  const look = async (name: string): Promise<void> => {
    await Promise.resolve()
    seen.push(`${name} in ${storage.getStore() ?? 'none'}`)
  }
  const inside = (name: string, work: () => Promise<unknown>): Promise<unknown> => storage.run(name, work)
  const handler = async (_: unknown, run: Run): Promise<void> => {
    // In the second attempt the first is recalled, and each of the others waits for its turn.
    await Promise.all([
      inside('a', () => run.step('first', () => look('first'))),
      ...(run.attempt === 1
        ? []
        : ['b', 'c'].map((at) => inside(at, () => run.step(`beside ${at}`, () => look('beside'))))),
      ...(run.attempt === 1 ? [] : [inside('d', () => run.transaction('written', () => look('written')))]),
    ])
    if (run.attempt === 1) throw new Error('The first attempt.')
    await inside('e', () => run.map('items', [1, 2], (item) => run.step('item', () => look(`item ${item}`))))
    const retry = { initial: '1ms', jitter: 0 } as const
    await inside('f', () =>
      run.step(
        'again',
        async (step) => {
          await look(`try ${step.try}`)
          if (step.try === 1) throw new Error('The first try.')
        },
        { retry },
      ),
    )
    await look('after')
  }
  const flow = defineWorkflow({ name: 'stored', retry: { initial: '1ms', jitter: 0 }, handler })
  await startWorker(database, { workflows: [flow], telemetry })
  const client = openClient(database)
  await client.result(await storage.run('the test', () => client.start(flow)))
  expect(seen.toSorted()).toEqual(
    [
      'first in a',
      'beside in b',
      'beside in c',
      'written in d',
      'item 1 in e',
      'item 2 in e',
      'try 1 in f',
      'try 2 in f',
      'after in none',
    ].toSorted(),
  )
})
