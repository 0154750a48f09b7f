import { context, metrics, trace, type Attributes, type Context, type Link, type Span } from '@opentelemetry/api'
import { NodeTracerProvider, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace-node'
import { afterEach, expect, test } from 'vitest'
import { createClient, defineWorkflow, type Run, type Workflow } from '../../src/index.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'
import { Telemetry } from '../../src/trace/telemetry.ts'
import { useDatabase } from '../support/database.ts'
import { names, optionsFor } from '../support/variant.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { OwnContextManager } from './own-context-manager.ts'

/** With parts of a user's own: what they see, and what goes through them. */

const database = useDatabase()

afterEach(() => {
  context.disable()
  trace.disable()
  metrics.disable()
})

interface Began {
  readonly name: string
  readonly attributes: Attributes
  readonly links: readonly Link[]
  readonly parent: string | undefined
}

/** As it is when it begins, whatever becomes of it. */
class OwnProcessor implements SpanProcessor {
  readonly began: Began[] = []

  onStart(span: ReadableSpan, parent: Context): void {
    const { name, attributes, links } = span
    this.began.push({
      name,
      attributes: { ...attributes },
      links: [...links],
      parent: trace.getSpanContext(parent)?.spanId,
    })
  }

  onEnd(): void {}
  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

function withOwn(): { provider: NodeTracerProvider; processor: OwnProcessor } {
  const processor = new OwnProcessor()
  const provider = new NodeTracerProvider({ spanProcessors: [processor] })
  context.setGlobalContextManager(new OwnContextManager())
  return { provider, processor }
}

async function resultOf(workflow: Workflow, provider?: NodeTracerProvider): Promise<unknown> {
  const telemetry = new Telemetry({ tracerProvider: provider, schema: names.schema, log: silentLogger })
  await startWorker(database, { workflows: [workflow], telemetry })
  const client = openClient(database)
  return await client.result(await client.start(workflow))
}

/** The span that is active here: its name, its step's key and try, and its ids. */
function here(): { name: string; key: unknown; try: unknown; spanId: string; parent: string | undefined } {
  const span: (Span & Partial<ReadableSpan>) | undefined = trace.getActiveSpan()
  return {
    name: span?.name ?? 'none',
    key: span?.attributes?.['holdfast.step.key'],
    try: span?.attributes?.['holdfast.step.try'],
    spanId: span?.spanContext().spanId ?? 'none',
    parent: span?.parentSpanContext?.spanId,
  }
}

test("TRACE-03: a user's own processor sees at a span's start what there is to sample and to link by", async () => {
  const { provider, processor } = withOwn()
  const flow = defineWorkflow({
    name: 'seen',
    retry: { initial: '1ms', jitter: 0 },
    handler: async (_, run) => {
      await run.step('look', () => 'looked')
      if (run.attempt === 1) throw new Error('The first attempt.')
    },
  })
  const client = createClient({ ...optionsFor(database), migrate: 'off', tracerProvider: provider })
  const { id } = await client.start(flow)
  await client.close()
  const telemetry = new Telemetry({ tracerProvider: provider, schema: names.schema, log: silentLogger })
  await startWorker(database, { workflows: [flow], telemetry })
  await openClient(database).result(id)
  const all = { 'holdfast.workflow.name': 'seen', 'holdfast.run.id': id }
  const claim = { ...all, 'messaging.message.conversation_id': id }
  const link = (type: string): object => ({ attributes: { 'holdfast.link.type': type } })
  expect(processor.began).toMatchObject([
    { name: 'start seen', attributes: all },
    { name: 'run seen', attributes: { ...claim, 'holdfast.attempt.number': 1 }, links: [link('started_by')] },
    { name: 'step look', attributes: { ...all, 'holdfast.step.key': 'look' } },
    {
      name: 'run seen',
      attributes: { ...claim, 'holdfast.attempt.number': 2 },
      links: [link('started_by'), link('previous_claim')],
    },
  ])
})

test("TRACE-03: a user's own context manager has each body in its own step's span, and the handler in its claim's", async () => {
  const { provider } = withOwn()
  const deeper = async (left: number): Promise<ReturnType<typeof here>> =>
    left === 0 ? here() : await Promise.resolve(left - 1).then(deeper)
  const seen: Record<string, ReturnType<typeof here>> = {}
  const between: ReturnType<typeof here>[] = []
  const look = (name: string) => async (): Promise<void> => {
    seen[name] = await deeper(5)
  }
  const handler = async (_: unknown, run: Run): Promise<void> => {
    between.push(here())
    await run.step('kept', () => undefined)
    between.push(here())
    const parallel = [1, 2, 3, 4, 5].map((each) => run.step(`parallel ${each}`, look(`parallel ${each}`)))
    between.push(here())
    await Promise.all(parallel)
    between.push(here())
    await run.map('items', ['a', 'b'], async (item) => {
      between.push(here())
      await run.step('item', look(`item ${item}`))
      between.push(here())
    })
    await run.transaction('writes', async (tx) => {
      await tx.query('select 1')
      await look('writes')()
    })
    await run.step(
      'again',
      async ({ try: tries }) => {
        await look(`again ${tries}`)()
        if (tries === 1) throw new Error('The first try.')
      },
      { retry: { initial: '1ms', jitter: 0 } },
    )
    const bad = run.step('bad', async () => {
      await look('bad')()
      throw new Error('Caught.')
    })
    await bad.catch(() => between.push(here()))
    between.push(here())
  }
  await resultOf(defineWorkflow({ name: 'carried', handler }), provider)

  const [claim] = between
  expect(claim).toMatchObject({ name: 'run carried', parent: undefined })
  expect(between).toEqual(Array.from({ length: 10 }, () => claim))
  const step = (name: string, key = name, tries = 1): object => ({
    name: `step ${name}`,
    key,
    try: tries,
    parent: claim?.spanId,
  })
  expect(seen).toMatchObject({
    ...Object.fromEntries([1, 2, 3, 4, 5].map((each) => [`parallel ${each}`, step(`parallel ${each}`)])),
    'item a': step('item', 'items[0]/item'),
    'item b': step('item', 'items[1]/item'),
    writes: step('writes'),
    'again 1': step('again'),
    'again 2': step('again', 'again', 2),
    bad: step('bad'),
  })
  expect(new Set(Object.values(seen).map(({ spanId }) => spanId)).size).toBe(11)
})

test("TRACE-03: a user's span around run.step is the parent of that step's, beside others and in a later claim too", async () => {
  const { provider } = withOwn()
  const shop = provider.getTracer('shop')
  const pairs: { readonly outer: string; readonly inner: ReturnType<typeof here> }[] = []
  const flow = defineWorkflow({
    name: 'wrapped',
    retry: { initial: '1ms', jitter: 0 },
    handler: async (_, run) => {
      const wrapped = (name: string): Promise<void> =>
        shop.startActiveSpan(`around ${name}`, async (span) => {
          const outer = span.spanContext().spanId
          await run.step(name, async () => {
            await Promise.resolve()
            pairs.push({ outer, inner: here() })
          })
          expect(here().spanId).toBe(outer)
          span.end()
        })
      // In the second claim the first of them is recalled, and the others wait for that.
      await Promise.all(['one', 'two', 'three'].slice(0, run.attempt === 1 ? 1 : 3).map(wrapped))
      if (run.attempt === 1) throw new Error('The first attempt.')
    },
  })
  await resultOf(flow, provider)
  expect(pairs.map(({ inner }) => inner.name)).toEqual(['step one', 'step two', 'step three'])
  expect(pairs.map(({ inner }) => inner.parent)).toEqual(pairs.map(({ outer }) => outer))
})
