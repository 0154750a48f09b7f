import { metrics } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { createClient, defineWorkflow, type Run } from '../../src/index.ts'
import { boundsOf, instruments, type InstrumentName } from '../../src/trace/instruments.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import { useDatabase } from '../support/database.ts'
import { expire, sweepLeases } from '../support/claim-by-hand.ts'
import { optionsFor, variant } from '../support/variant.ts'
import { becomes } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { Metering } from './metering.ts'

const database = useDatabase()
const workflowName = 'holdfast.workflow.name'

class OutOfStockError extends Error {
  override readonly name = 'OutOfStockError'
}

test('TRACE-05: starts, claims, runs and steps are counted with how they ended, and nothing of a single run is said', async () => {
  const metering = new Metering()
  const order = defineWorkflow({
    name: 'metered order',
    retry: { initial: '1ms' },
    maxAttempts: 2,
    handler: async (_, run: Run) => {
      await run.step('reserve', () => 1)
      await run.step('charge', () => {
        if (run.key === 'bad') throw new OutOfStockError('None left.')
      })
    },
  })
  const client = createClient({ ...optionsFor(database), migrate: 'off', meterProvider: metering.provider })
  const worker = await startWorker(database, { workflows: [order], telemetry: metering.telemetry })
  const good = await client.start(order, undefined, { key: 'good' })
  await client.start(order, undefined, { key: 'good' })
  const bad = await client.start(order, undefined, { key: 'bad' })
  await client.result(good)
  await becomes(client, bad, 'failed')
  const name = { [workflowName]: 'metered order' }
  const ended = { ...name, 'holdfast.claim.outcome': 'failed', 'error.type': 'OutOfStockError' }
  await expect.poll(() => metering.read('holdfast.claim.duration', ended)).toBe(1)

  const claims = 'holdfast.claim.duration'
  const refused = { 'error.type': 'OutOfStockError' }
  const read = async (...[metric, more]: [InstrumentName, object?]): Promise<unknown> =>
    await metering.read(metric, { ...name, ...more })
  expect(await read('holdfast.run.started', { 'holdfast.start.result': 'created' })).toBe(2)
  expect(await read('holdfast.run.started', { 'holdfast.start.result': 'existing' })).toBe(1)
  expect(await read(claims, { 'holdfast.claim.outcome': 'done' })).toBe(1)
  expect(await read(claims, { 'holdfast.claim.outcome': 'retry', ...refused })).toBe(1)
  expect(await read(claims, { 'holdfast.claim.outcome': 'failed', ...refused })).toBe(1)
  expect(await read('holdfast.run.duration', { 'holdfast.run.state': 'done' })).toBe(1)
  expect(await read('holdfast.run.duration', { 'holdfast.run.state': 'failed' })).toBe(1)
  expect(await read('holdfast.run.wait.duration')).toBe(3)
  // What was recalled has no duration.
  expect(await read('holdfast.step.duration', { 'holdfast.step.name': 'reserve' })).toBe(2)
  expect(await read('holdfast.step.duration', { 'holdfast.step.name': 'charge' })).toBe(1)
  expect(await read('holdfast.step.duration', { 'holdfast.step.name': 'charge', ...refused })).toBe(2)
  expect(await metering.read('holdfast.worker.slot.limit', { 'holdfast.worker.id': worker.id })).toBe(16)
  expect(await metering.read('holdfast.worker.slot.usage', { 'holdfast.worker.id': worker.id })).toBe(0)
  for (const call of ['start', 'claim', 'keep', 'settle']) {
    expect(await metering.read('holdfast.batch.size', { 'holdfast.batch.call': call })).toBeGreaterThan(0)
  }
  await client.close()

  const told = await metering.collect()
  for (const [metric, points] of told) {
    const allowed: readonly string[] = instruments[metric as InstrumentName].attributes
    for (const { attributes } of points) {
      expect(Object.keys(attributes).filter((each) => !allowed.includes(each))).toEqual([])
      expect(JSON.stringify(attributes)).not.toContain(good.id)
    }
  }
})

test('TRACE-05: durations come in buckets of seconds, with units and descriptions', async () => {
  const metering = new Metering()
  metering.telemetry.meters.record('holdfast.step.duration', 0.2, {})
  metering.telemetry.meters.record('holdfast.batch.size', 3, {})
  const told = await metering.collect()
  const bounds = (name: string): unknown => {
    const value = told.get(name)?.[0]?.value as { buckets: { boundaries: number[] } } | undefined
    return value?.buckets.boundaries
  }
  expect(bounds('holdfast.step.duration')).toEqual(boundsOf('s'))
  expect(bounds('holdfast.batch.size')).toEqual(boundsOf('{item}'))
  expect(boundsOf('s').at(0)).toBeLessThan(0.01)
})

test('TRACE-05: a lease that is lost is counted with the reason, and renewals are timed', async () => {
  const metering = new Metering()
  const client = openClient(database)
  const begun = signal()
  const stuck = defineWorkflow({
    name: 'stuck',
    lease: '1.5s',
    handler: (_, run) => {
      if (run.attempt > 1) return 'done'
      begun.give()
      return new Promise(() => undefined)
    },
  })
  await startWorker(database, { workflows: [stuck], telemetry: metering.telemetry })
  const run = await client.start(stuck)
  await begun.promise
  await expire(database, run.id)
  await sweepLeases(database)
  await client.result(run)
  await expect
    .poll(async () => {
      const points = (await metering.collect()).get('holdfast.lease.lost') ?? []
      return points.map(({ attributes, value }) => [attributes[workflowName], value])
    })
    .toEqual([['stuck', 1]])
  expect(await metering.read('holdfast.lease.renewal.duration', {})).toBeGreaterThan(0)
})

test('TRACE-05: how long a run was set aside is told by the kind of limit, on its claim too', async () => {
  const metering = new Metering()
  const client = openClient(database)
  const begun = signal()
  const free = signal()
  const one = defineWorkflow({
    name: 'one at a time',
    concurrency: 1,
    handler: async () => {
      begun.give()
      await free.promise
    },
  })
  const two = defineWorkflow({ name: 'two a second', rate: { limit: 2, per: '1s' }, handler: () => 1 })
  await startWorker(database, { workflows: [one, two], telemetry: metering.telemetry, concurrency: 8 })
  const first = await client.start(one)
  await begun.promise
  const active = (await metering.collect()).get('holdfast.claim.active')
  expect(active?.map(({ attributes, value }) => [attributes[workflowName], value])).toEqual([['one at a time', 1]])
  const second = await client.start(one)
  await expect.poll(async () => await asideOf(second.id)).toBe('concurrency')
  free.give()
  const rated = await Promise.all([1, 2, 3].map(() => client.start(two)))
  await Promise.all([first.id, second.id, ...rated.map(({ id }) => id)].map((id) => client.result(id)))
  const waited = (name: string, kind: string): Promise<unknown> =>
    metering.read('holdfast.limit.wait.duration', { [workflowName]: name, 'holdfast.limit.kind': kind })
  await expect.poll(() => waited('one at a time', 'concurrency')).toBe(1)
  await expect.poll(() => waited('two a second', 'rate')).toBe(1)
})

async function asideOf(id: string): Promise<string | null | undefined> {
  const { rows } = await database.query<{ set_aside_for: string | null }>(
    'select set_aside_for from holdfast.runs where id = $1',
    [id],
  )
  return rows[0]?.set_aside_for
}

test('TRACE-05: an SDK that comes after the worker gets its metrics all the same', async () => {
  const metering = new Metering()
  const client = openClient(database)
  const telemetry = new Telemetry({ schema: variant.schema ?? 'holdfast', log: silentLogger })
  const early = defineWorkflow({ name: 'early', handler: () => 1 })
  const worker = await startWorker(database, { workflows: [early], telemetry })
  await client.result(await client.start(early))
  metrics.setGlobalMeterProvider(metering.provider)
  await client.result(await client.start(early))
  const name = { [workflowName]: 'early', 'holdfast.claim.outcome': 'done' }
  await expect.poll(() => metering.read('holdfast.claim.duration', name)).toBe(1)
  expect(await metering.read('holdfast.worker.slot.limit', { 'holdfast.worker.id': worker.id })).toBe(16)
  metrics.disable()
})
