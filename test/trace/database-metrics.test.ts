import { expect, test } from 'vitest'
import { readMetrics } from '../../src/db/metrics-calls.ts'
import { Database } from '../../src/db/database.ts'
import { defineWorkflow, type Run } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { useDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'
import { becomes } from '../support/waiting.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { Metering } from './metering.ts'

const database = useDatabase()
const workflowName = 'holdfast.workflow.name'
const kindName = 'holdfast.limit.kind'

test('TRACE-05: depths, ages and limits are told by one worker at a time, and by another one once that has ended', async () => {
  const client = openClient(database)
  const begun = signal()
  const free = signal()
  const narrow = defineWorkflow({
    name: 'narrow',
    group: () => 'acme',
    concurrency: { limit: 1, perGroup: 1 },
    rate: { limit: 50, per: '1h', perGroup: { limit: 20, per: '1h' } },
    handler: async () => {
      begun.give()
      await free.promise
    },
  })
  const asleep = defineWorkflow({ name: 'asleep', handler: (_, run: Run) => run.sleep('nap', '1h') })
  const waits = defineWorkflow({ name: 'waits', handler: (_, run: Run) => run.waitFor('never') })
  const fails = defineWorkflow({ name: 'fails', handler: (_, run: Run) => run.fail('no') })
  const workflows = [narrow, asleep, waits, fails]
  const [a, b] = [new Metering(), new Metering()]
  const first = await startWorker(database, { workflows, telemetry: a.telemetry })
  await startWorker(database, { workflows, telemetry: b.telemetry })
  await client.start(narrow)
  await begun.promise
  const aside = await client.start(narrow)
  await client.start(narrow)
  await client.start(narrow, undefined, { delay: '1h' })
  await becomes(client, await client.start(asleep), 'suspended')
  await becomes(client, await client.start(waits), 'suspended')
  await becomes(client, await client.start(fails), 'failed')
  await database.query(`update holdfast.runs set due_at = due_at - interval '90 s' where id = $1`, [aside.id])

  const read = (metering: Metering, metric: string, more: object): Promise<number | undefined> =>
    metering.read(metric, more as Readonly<Record<string, unknown>>)
  const depth = (metering: Metering, name: string, state: string): Promise<number | undefined> =>
    read(metering, 'holdfast.queue.depth', { [workflowName]: name, 'holdfast.run.state': state })
  expect(await depth(a, 'narrow', 'waiting')).toBe(2)
  expect(await depth(a, 'narrow', 'running')).toBe(1)
  expect(await depth(a, 'narrow', 'scheduled')).toBe(1)
  expect(await depth(a, 'narrow', 'suspended')).toBe(0)
  expect(await depth(a, 'asleep', 'suspended')).toBe(1)
  expect(await depth(a, 'waits', 'suspended')).toBe(1)
  expect(await depth(a, 'fails', 'failed')).toBe(1)
  expect(await read(a, 'holdfast.queue.oldest.age', { [workflowName]: 'narrow' })).toBeGreaterThan(89)
  expect(await read(a, 'holdfast.queue.oldest.age', { [workflowName]: 'asleep' })).toBe(0)
  const limits = ['usage', 'limit', 'saturated'].map((metric) =>
    Promise.all(
      ['concurrency', 'rate', 'concurrency_per_group', 'rate_per_group'].map((kind) =>
        read(a, `holdfast.limit.${metric}`, { [workflowName]: 'narrow', [kindName]: kind }),
      ),
    ),
  )
  expect(await Promise.all(limits)).toEqual([
    [1, 1, 1, 1],
    [1, 50, 1, 20],
    [1, 0, 1, 0],
  ])

  // The other one has nothing to add, but for itself.
  expect((await b.collect()).has('holdfast.queue.depth')).toBe(false)
  expect((await b.collect()).has('holdfast.worker.slot.limit')).toBe(true)
  free.give()
  await first.stop()
  expect(await depth(b, 'fails', 'failed')).toBe(1)
  // Its SDK would go on with what it was told last.
  expect(await depth(a, 'fails', 'failed')).toBe(0)
  expect(await read(a, 'holdfast.limit.limit', { [workflowName]: 'narrow', [kindName]: 'rate' })).toBe(0)
  expect(await read(a, 'holdfast.worker.slot.limit', { 'holdfast.worker.id': first.id })).toBe(0)
})

test('TRACE-05: a limit that is there no more is not told for ever', async () => {
  const metering = new Metering()
  const limited = defineWorkflow({ name: 'limited', concurrency: 3, handler: () => undefined })
  await database.query(`update holdfast.metrics_reader set reader = null, until = null`)
  await startWorker(database, { workflows: [limited], telemetry: metering.telemetry })
  const limit = (): Promise<number | undefined> =>
    metering.read('holdfast.limit.limit', { [workflowName]: 'limited', [kindName]: 'concurrency' })
  expect(await limit()).toBe(3)
  await database.query(`delete from holdfast.limits where workflow = 'limited'`)
  expect(await limit()).toBe(0)
})

test('TRACE-05: a reader that says nothing for two minutes is followed by another; of two at once one reads', async () => {
  const own = new Database({ ...optionsFor(database), clock: systemClock })
  const workers = await Promise.all(
    ['one', 'two'].map((name) =>
      startWorker(database, { workflows: [defineWorkflow({ name, handler: () => undefined })] }),
    ),
  )
  const [one = '', two = ''] = workers.map(({ id }) => id)
  await database.query(`update holdfast.metrics_reader set reader = null, until = null`)
  const both = await Promise.all([readMetrics(own, one), readMetrics(own, two)])
  expect(both.filter(Boolean)).toHaveLength(1)
  const [reader, other] = both[0] ? [one, two] : [two, one]
  expect(await readMetrics(own, other)).toBeUndefined()
  expect(await readMetrics(own, reader)).toBeDefined()
  await database.query(`update holdfast.metrics_reader set until = until - interval '2 min'`)
  expect(await readMetrics(own, other)).toBeDefined()
  expect(await readMetrics(own, reader)).toBeUndefined()
  // Whoever is no worker reads beside them.
  expect((await readMetrics(own, undefined))?.workers.map(({ id }) => id)).toEqual(expect.arrayContaining([one, two]))
  await own.close()
})
