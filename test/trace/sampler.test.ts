import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { context, ROOT_CONTEXT, SpanKind, trace, TraceFlags, type Attributes } from '@opentelemetry/api'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { afterEach, expect, test } from 'vitest'
import { createClient, defineWorkflow, type RunView } from '../../src/index.ts'
import { ConfigError } from '../../src/model/errors.ts'
import { runSampler } from '../../src/otel.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import { useDatabase } from '../support/database.ts'
import { newId } from '../support/runs.ts'
import { names, optionsFor } from '../support/variant.ts'
import { startWorker } from '../support/worker.ts'
import { OwnContextManager } from './own-context-manager.ts'

const database = useDatabase()
const traceId = 'a'.repeat(32)

afterEach(() => {
  context.disable()
  trace.disable()
})

function isKept(ratio: number, attributes: Attributes, within = ROOT_CONTEXT, trace_ = traceId): boolean {
  const { decision } = runSampler(ratio).shouldSample(within, trace_, 'run order', SpanKind.CONSUMER, attributes)
  // 1 would record it and not say so to what is beneath.
  if (decision === 1) throw new Error('A span is kept or dropped.')
  return decision === 2
}

const isRunKept = (ratio: number, id: string): boolean => isKept(ratio, { 'holdfast.run.id': id })

test('TRACE-04: the same runs are kept in every process', async () => {
  const ids = Array.from({ length: 200 }, newId)
  const kept = ids.filter((id) => isRunKept(0.5, id))
  expect(kept.length).toBeGreaterThan(50)
  expect(kept.length).toBeLessThan(150)
  const script = `
    import { createJiti } from 'jiti'
    const { runSampler } = await createJiti(process.cwd() + '/').import('./src/otel.ts')
    const { ROOT_CONTEXT } = await import('@opentelemetry/api')
    const sampler = runSampler(0.5)
    const isKept = (id, index) =>
      sampler.shouldSample(ROOT_CONTEXT, String(index).padStart(32, '1'), '', 0, { 'holdfast.run.id': id }).decision === 2
    process.stdout.write(JSON.stringify(JSON.parse(process.argv[1]).filter(isKept)))`
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', script, JSON.stringify(ids)],
    { cwd: fileURLToPath(new URL('../..', import.meta.url)) },
  )
  expect(JSON.parse(stdout)).toEqual(kept)
})

test('TRACE-04: the runs that are kept stay the same from release to release', () => {
  const ids = Array.from(
    { length: 16 },
    (_, at) => `0192f0c1-2a3b-7c4d-8e5f-0123456789${at.toString(16).padStart(2, '0')}`,
  )
  expect(ids.map((id) => (isRunKept(0.5, id) ? 1 : 0)).join('')).toBe('0101111101010110')
})

test('TRACE-04: a ratio of 0 keeps none, 1 keeps all, and another its share', () => {
  const ids = Array.from({ length: 20_000 }, newId)
  const share = (ratio: number): number => ids.filter((id) => isRunKept(ratio, id)).length / ids.length
  expect(share(0)).toBe(0)
  expect(share(1)).toBe(1)
  expect(Math.abs(share(0.1) - 0.1)).toBeLessThan(0.01)
  expect(Math.abs(share(0.5) - 0.5)).toBeLessThan(0.02)
  // Who keeps more keeps those that others keep.
  expect(ids.filter((id) => isRunKept(0.1, id) && !isRunKept(0.5, id))).toEqual([])
})

test('TRACE-04: a parent decides, then the family, then the run, then the trace', () => {
  const ids = Array.from({ length: 200 }, newId)
  const kept = ids.find((id) => isRunKept(0.5, id)) ?? ''
  const dropped = ids.find((id) => !isRunKept(0.5, id)) ?? ''
  const under = (traceFlags: TraceFlags): typeof ROOT_CONTEXT =>
    trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: 'b'.repeat(16), traceFlags })
  expect(isKept(0.5, { 'holdfast.run.id': dropped }, under(TraceFlags.SAMPLED))).toBe(true)
  expect(isKept(1, { 'holdfast.run.id': kept }, under(TraceFlags.NONE))).toBe(false)
  // What is no span's context is no parent.
  const none = trace.setSpanContext(ROOT_CONTEXT, { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 1 })
  expect(isKept(0.5, { 'holdfast.run.id': dropped }, none)).toBe(false)
  const family = (root: string, id: string): Attributes => ({
    'messaging.message.conversation_id': root,
    'holdfast.run.id': id,
  })
  expect(isKept(0.5, family(kept, dropped))).toBe(true)
  expect(isKept(0.5, family(dropped, kept))).toBe(false)
  // A span of something else goes by its trace.
  const traces = ids.map((id) => id.replaceAll('-', ''))
  const others = traces.filter((each) => isKept(0.5, {}, ROOT_CONTEXT, each))
  expect(others.length).toBeGreaterThan(50)
  expect(others.length).toBeLessThan(150)
})

test.each([NaN, -0.1, 1.1, '1', undefined, Infinity])('TRACE-04: a ratio of %s is refused', (ratio) => {
  expect(() => runSampler(ratio as number)).toThrow(expect.objectContaining({ field: 'ratio' }) as Error)
  expect(() => runSampler(ratio as number)).toThrow(ConfigError)
})

test('TRACE-04: of each run and its children all claims are kept or none, with what is beneath them', async () => {
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({
    sampler: runSampler(0.5),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  })
  context.setGlobalContextManager(new OwnContextManager())
  const shop = provider.getTracer('shop')
  const stock = (run: string): void => shop.startActiveSpan('GET /stock', { attributes: { run } }, (span) => span.end())
  const child = defineWorkflow({ name: 'child', handler: (_, run) => run.step('look', () => stock(run.id)) })
  const order = defineWorkflow({
    name: 'order',
    retry: { initial: '1ms', jitter: 0, factor: 1 },
    handler: async (_, run) => {
      await run.step(`look ${run.attempt}`, () => stock(run.id))
      if (run.attempt < 4) throw new Error('Not yet.')
      return (await run.start(child)) as unknown
    },
  })
  const telemetry = new Telemetry({ tracerProvider: provider, schema: names.schema, log: silentLogger })
  await startWorker(database, { workflows: [order, child], telemetry })
  const client = createClient({ ...optionsFor(database), migrate: 'off', tracerProvider: provider })
  const runs = await Promise.all(Array.from({ length: 20 }, () => client.start(order)))
  await Promise.all(runs.map((run) => client.result(run)))
  await expect.poll(async () => (await client.list({ workflow: 'child', state: 'done' })).items.length).toBe(20)
  const children = (await client.list({ workflow: 'child' })).items
  await client.close()

  const spans = exporter.getFinishedSpans()
  const count = (name: string, attribute: string, id: string | undefined): number =>
    spans.filter((span) => span.name === name && span.attributes[attribute] === id).length
  const told = runs.map(({ id }) => {
    const childId = children.find(({ parentId }) => parentId === id)?.id
    return [
      count('start order', 'holdfast.run.id', id),
      count('run order', 'holdfast.run.id', id),
      count('GET /stock', 'run', id),
      count('run child', 'holdfast.run.id', childId),
      count('GET /stock', 'run', childId),
    ]
  })
  const all = [1, 4, 4, 1, 1]
  const none = [0, 0, 0, 0, 0]
  const kept = runs.map(({ id }) => isRunKept(0.5, id))
  expect(told).toEqual(kept.map((is) => (is ? all : none)))
  expect(kept).toContain(true)
  expect(kept).toContain(false)

  const views = await Promise.all(runs.map((run) => viewOf(run.id)))
  expect(views.map(({ claims = [] }) => claims.map(({ traceId: id }) => id !== undefined))).toEqual(
    kept.map((is) => [is, is, is, is]),
  )
})

async function viewOf(id: string): Promise<RunView> {
  const client = createClient({ ...optionsFor(database), migrate: 'off' })
  const view = await client.get(id)
  await client.close()
  return view!
}
