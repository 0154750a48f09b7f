import { context, trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { createClient, defineWorkflow, type Run } from '../../src/index.ts'
import { useDatabase } from '../support/database.ts'
import { optionsFor } from '../support/variant.ts'
import { becomes } from '../support/waiting.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { idOf, linksOf, useRecording } from './recording.ts'

const database = useDatabase()
const recording = useRecording()
const twice = defineWorkflow({
  name: 'twice',
  handler: async (_, run) => await run.sleep('nap', 5),
})

test.each([
  { propagation: 'link', isBeneath: false, links: 1 },
  { propagation: 'child', isBeneath: true, links: 0 },
  { propagation: 'none', isBeneath: false, links: 0 },
] as const)(
  'TRACE-01: with propagation $propagation its claims are beneath the start: $isBeneath, and linked to it: $links',
  async ({ propagation, isBeneath, links }) => {
    const client = openClient(database)
    await startWorker(database, { workflows: [twice], telemetry: recording.telemetry({ propagation }) })
    await client.result(await client.start(twice))
    await expect.poll(() => recording.named('run twice').length).toBe(2)
    const [start] = recording.named('start twice')
    const [first, second] = recording.named('run twice')
    const starter = links === 1 ? [{ type: 'started_by', spanId: idOf(start) }] : []
    expect(linksOf(first)).toEqual(starter)
    expect(linksOf(second)).toEqual([...starter, { type: 'previous_claim', spanId: idOf(first) }])
    for (const claim of [first, second]) {
      expect(claim?.parentSpanContext?.spanId).toBe(isBeneath ? idOf(start) : undefined)
      expect(claim?.spanContext().traceId === start?.spanContext().traceId).toBe(isBeneath)
    }
  },
)

test('TRACE-01: a client with propagation none keeps nothing of its trace with the run', async () => {
  const client = createClient({ ...optionsFor(database), migrate: 'off', tracing: { propagation: 'none' } })
  const run = await client.start(twice)
  await client.close()
  const { rows } = await database.query('select traceparent, tracestate from holdfast.runs where id = $1', [run.id])
  expect(rows).toEqual([{ traceparent: null, tracestate: null }])
})

test('TRACE-01: a child is linked to the claim that called it, a run that goes on to the one that ended, one that undoes to the last claim', async () => {
  const client = openClient(database)
  const child = defineWorkflow({ name: 'child', handler: () => 'grown' })
  const parent = defineWorkflow({
    name: 'parent',
    handler: async (_, run: Run) => {
      await run.step('done', () => 1, { rollback: () => undefined })
      // This span does not end where the claim is suspended.
      await trace.getTracer('shop').startActiveSpan('family', async () => await run.call(child))
      return run.fail('no')
    },
  })
  const counts = defineWorkflow({
    name: 'counts',
    handler: (n: unknown, run: Run) => (n === 2 ? 'counted' : run.continueAs(2)),
  })
  const telemetry = recording.telemetry()
  await startWorker(database, { workflows: [parent, child, counts], telemetry })
  const run = await client.start(parent)
  await becomes(client, run, 'failed')
  await expect.poll(async () => (await client.get(run))?.rollback?.state).toBe('done')
  const continued = await client.start(counts)
  expect(await client.result(continued)).toBe('counted')
  await expect.poll(() => recording.named('run counts').length).toBe(2)

  const [called] = recording.named('run child')
  const claims = recording.named('run parent')
  expect(linksOf(called)).toEqual([{ type: 'parent_run', spanId: idOf(claims[0]) }])
  expect(called?.attributes['messaging.message.conversation_id']).toBe(run.id)
  const undoing = claims.find((span) => span.attributes['holdfast.run.id'] !== run.id)
  const last = claims.findLast((span) => span.attributes['holdfast.run.id'] === run.id)
  expect(linksOf(undoing)).toEqual([{ type: 'started_by', spanId: idOf(last) }])
  expect(undoing?.attributes['messaging.message.conversation_id']).toBe(run.id)
  const [ended, next] = recording.named('run counts')
  expect(linksOf(next)).toEqual([{ type: 'started_by', spanId: idOf(ended) }])
})

test('TRACE-01: one span for a batch, whose context each of its runs keeps; one that names an older run says so', async () => {
  const client = openClient(database)
  await client.startMany(twice, [{}, {}, {}])
  const [batch] = recording.named('start twice')
  expect(batch?.attributes).toMatchObject({ 'messaging.batch.message_count': 3 })
  const { rows } = await database.query<{ span: string }>(
    `select distinct split_part(traceparent, '-', 3) as span from holdfast.runs where workflow = 'twice' and traceparent is not null
     and split_part(traceparent, '-', 3) = $1`,
    [idOf(batch)],
  )
  expect(rows).toHaveLength(1)
  const first = await client.start(twice, undefined, { key: 'same' })
  const again = await client.start(twice, undefined, { key: 'same' })
  expect(again.id).toBe(first.id)
  const results = recording.named('start twice').map(({ attributes }) => attributes['holdfast.start.result'])
  expect(results).toEqual([undefined, 'created', 'existing'])
  expect(recording.named('start twice')[2]?.attributes['holdfast.run.id']).toBe(first.id)
})

test('TRACE-01: a start that is refused is an error of its span', async () => {
  const client = openClient(database)
  const small = defineWorkflow({ name: 'small', maxWaiting: 1, handler: () => 1 })
  await client.start(small)
  await expect(client.start(small)).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  const [, refused] = recording.named('start small')
  expect(refused).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'QueueFullError' } })
  expect(refused?.events).toHaveLength(1)
})

test('TRACE-01: a start from SQL brings the context of its caller, and what is none is no context', async () => {
  const client = openClient(database)
  await startWorker(database, { workflows: [twice], telemetry: recording.telemetry() })
  const caller = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const ids: string[] = []
  for (const traceparent of [
    caller,
    'not-a-traceparent',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    null,
  ]) {
    const { rows } = await database.query<{ id: string }>(
      `select id from holdfast.start('twice', 'null', traceparent => $1)`,
      [traceparent],
    )
    ids.push(rows[0]!.id)
    await client.result(rows[0]!.id)
  }
  const firsts = ids.map((id) => recording.named('run twice').find((span) => span.attributes['holdfast.run.id'] === id))
  expect(firsts.map((span) => linksOf(span))).toEqual([
    [{ type: 'started_by', spanId: '00f067aa0ba902b7' }],
    [],
    [],
    [],
  ])
})

test('TRACE-01: keys and groups are on spans only if that is asked for', async () => {
  const grouped = defineWorkflow({ name: 'grouped', group: () => 'acme', handler: () => 1 })
  for (const tracing of [{}, { runKey: true, groupKey: true }]) {
    const client = createClient({ ...optionsFor(database), migrate: 'off', tracing })
    const worker = await startWorker(database, { workflows: [grouped], telemetry: recording.telemetry(tracing) })
    await client.result(await client.start(grouped, undefined, { key: `k${Object.keys(tracing).length}` }))
    await worker.stop()
    await client.close()
  }
  const said = recording.spans.map(({ attributes }) => [
    attributes['holdfast.run.key'],
    attributes['holdfast.group.key'],
  ])
  expect(said).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    ['k2', 'acme'],
    ['k2', 'acme'],
  ])
})

test('TRACE-01: get gives where each claim can be looked at', async () => {
  const traceUrl = 'https://traces.example/{traceId}?span={spanId}&in={traceId}'
  const client = createClient({ ...optionsFor(database), migrate: 'off', traceUrl })
  await startWorker(database, { workflows: [twice], telemetry: recording.telemetry() })
  const run = await client.start(twice)
  await client.result(run)
  await expect.poll(() => recording.named('run twice').length).toBe(2)
  const claims = (await client.get(run))?.claims
  await client.close()
  const expected = recording.named('run twice').map((span) => {
    const { traceId, spanId } = span.spanContext()
    const url = `https://traces.example/${traceId}?span=${spanId}&in=${traceId}`
    return { traceId, spanId, traceUrl: url, attempt: 1, workerId: span.attributes['holdfast.worker.id'] }
  })
  expect(claims?.toReversed()).toMatchObject(expected)
  expect(claims?.map(({ outcome, recalled }) => [outcome, recalled])).toEqual([
    ['done', 1],
    ['suspended', 0],
  ])
})

test('TRACE-01: neither the context in which a worker was made nor that of one run is in the trace of another', async () => {
  const client = openClient(database)
  const outer = trace.getTracer('shop').startSpan('boot')
  await context.with(trace.setSpan(context.active(), outer), () =>
    startWorker(database, { workflows: [twice], telemetry: recording.telemetry(), concurrency: 4 }),
  )
  const runs = await Promise.all(Array.from({ length: 8 }, () => client.start(twice)))
  await Promise.all(runs.map((run) => client.result(run)))
  await expect.poll(() => recording.named('run twice').length).toBe(16)
  const traces = recording.named('run twice').map((span) => span.spanContext().traceId)
  expect(new Set([outer.spanContext().traceId, ...traces]).size).toBe(17)
})
