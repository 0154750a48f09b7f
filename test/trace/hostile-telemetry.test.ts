import { context, metrics, trace } from '@opentelemetry/api'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/index.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import { useDatabase } from '../support/database.ts'
import { names, optionsFor } from '../support/variant.ts'
import { openClient, recordingLogger, type LogLine } from '../support/worker.ts'
import { startAll, work, type Work } from './hostile-deeds.ts'
import { hostileKinds, type Hostile } from './hostile-telemetries.ts'
import { OwnContextManager } from './own-context-manager.ts'

const database = useDatabase()
let untold: Work
let started: unknown

beforeAll(async () => {
  untold = await work(database)
  started = await startAll(database, openClient(database))
})

afterEach(() => {
  context.disable()
  trace.disable()
  metrics.disable()
})

test('TRACE-03: without telemetry runs go through all that a telemetry could disturb', () => {
  expect(untold.calls).toEqual({
    handler: 4,
    returns: 2,
    retried: 4,
    fails: 2,
    reads: 2,
    one: 4,
    own: 2,
  })
  const kept = ['[start]child', 'both[0]/one', 'both[1]/one', 'fails', 'reads', 'retried', 'returns']
  expect(untold.deeds).toEqual([untold.deeds[0], untold.deeds[0]])
  expect(untold.deeds[0]).toMatchObject({
    output: { returned: 'returned', retried: 'try 2', caught: 'Caught.', both: [1, 2], attempt: 2 },
    steps: kept.map((key) => ({ key, kind: key === 'fails' ? 'failure' : 'answer', attempt: 1 })),
    claims: [{ outcome: 'retry' }, { outcome: 'done', recalled: 7 }],
    children: ['a child'],
  })
  expect(userLines(untold.lines)).toBe(4)
  expect(started).toMatchObject({ isSame: true })
})

test('TRACE-03: telemetry that works changes no run', async () => {
  await expectNoDifference({ tracerProvider: new NodeTracerProvider() })
})

test.each(hostileKinds.map((kind) => [kind.name, kind] as const))(
  'TRACE-03: %s changes no run',
  async (_, { make, toldBy }) => {
    let hits = 0
    const hit = (): void => void (hits += 1)
    const worst = (): never => {
      hit()
      throw new Error('Telemetry is broken.')
    }
    const hostile = await make(worst, hit)
    const told = await expectNoDifference(hostile)
    // Once each, however often it threw.
    expect(told).toEqual({ client: toldBy.includes('client') ? 1 : 0, worker: toldBy.includes('worker') ? 1 : 0 })
    await expect.poll(() => hits).toBeGreaterThan(1)
    await hostile.close?.()
  },
)

async function expectNoDifference({ tracerProvider, meterProvider, contextManager }: Hostile): Promise<object> {
  context.setGlobalContextManager(contextManager ?? new OwnContextManager())
  const logger = recordingLogger()
  const told = await work(
    database,
    (log) => new Telemetry({ tracerProvider, meterProvider, schema: names.schema, log }),
  )
  expect(told.deeds).toEqual(untold.deeds)
  expect(told.calls).toEqual(untold.calls)
  expect(userLines(told.lines)).toBe(userLines(untold.lines))
  expect(told.lines.filter((line) => isTrouble(line) && !isComplaint(line))).toEqual([])
  const client = createClient({ ...optionsFor(database), migrate: 'off', tracerProvider, meterProvider, logger })
  expect(await startAll(database, client)).toEqual(started)
  await client.close()
  return { client: complaints(logger.lines), worker: complaints(told.lines) }
}

function userLines(lines: readonly LogLine[]): number {
  return lines.filter(({ message }) => message === 'A line of the handler.').length
}

function complaints(lines: readonly LogLine[]): number {
  return lines.filter(isComplaint).length
}

function isComplaint({ message }: LogLine): boolean {
  return message.startsWith('Telemetry threw')
}

function isTrouble({ level }: LogLine): boolean {
  return level === 'warn' || level === 'error'
}
