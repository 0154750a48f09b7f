import { context, SpanKind, SpanStatusCode, type Attributes, type Span } from '@opentelemetry/api'
import type { StartItem } from '../model/start-item.ts'
import { carrierOf, type Carrier } from './carrier.ts'
import { errorTypeOf, toException } from './exception.ts'
import type { AskedFor, Tracing } from './tracing.ts'

/** The span of one call that starts runs: one for a whole batch, whose context each of its runs keeps. */
export class StartTrace {
  /** What the runs are to keep of it. */
  readonly carrier: Carrier | undefined
  readonly #tracing: Tracing
  readonly #workflow: string
  readonly #span: Span | undefined
  readonly #isAlone: boolean

  constructor(tracing: Tracing, items: readonly StartItem[]) {
    const { guard, tracer, propagation } = tracing
    const [first] = items
    this.#tracing = tracing
    this.#workflow = first?.workflow ?? ''
    this.#isAlone = items.length === 1
    if (!first) return
    this.#span = guard.try(() => {
      const attributes = attributesOf(tracing, first, items.length)
      return tracer.startSpan(`start ${first.workflow}`, { kind: SpanKind.PRODUCER, attributes }, context.active())
    }, undefined)
    const span = this.#span
    if (span && propagation !== 'none') this.carrier = guard.try(() => carrierOf(span.spanContext()), undefined)
  }

  /** What the database made of them. */
  started(runs: readonly AskedFor[]): void {
    const labels = { 'holdfast.workflow.name': this.#workflow }
    const { guard, meters } = this.#tracing
    const created = runs.filter((run) => run.created).length
    const existing = runs.length - created
    if (created > 0) meters.add('holdfast.run.started', created, { ...labels, 'holdfast.start.result': 'created' })
    if (existing > 0) meters.add('holdfast.run.started', existing, { ...labels, 'holdfast.start.result': 'existing' })
    const [first] = runs
    const span = this.#span
    if (span && this.#isAlone && first) {
      const result = first.created ? 'created' : 'existing'
      const attributes = {
        'holdfast.start.result': result,
        'holdfast.run.id': first.id,
        'messaging.message.id': first.id,
      }
      guard.try(() => span.setAttributes(attributes), undefined)
    }
    this.#end()
  }

  failed(error: unknown): void {
    const span = this.#span
    if (!span) return
    this.#tracing.guard.try(() => {
      span.setAttribute('error.type', errorTypeOf(error))
      span.recordException(toException(error))
      span.setStatus({ code: SpanStatusCode.ERROR })
    }, undefined)
    this.#end()
  }

  #end(): void {
    const span = this.#span
    if (span) this.#tracing.guard.try(() => span.end(), undefined)
  }
}

function attributesOf({ runKey, groupKey }: Tracing, item: StartItem, count: number): Attributes {
  const { id, workflow, key, group_key: group } = item
  const attributes: Attributes = {
    'messaging.system': 'holdfast',
    'messaging.operation.name': 'start',
    'messaging.operation.type': 'send',
    'messaging.destination.name': workflow,
    'holdfast.workflow.name': workflow,
  }
  if (count !== 1) return { ...attributes, 'messaging.batch.message_count': count }
  return {
    ...attributes,
    'messaging.message.id': id,
    'holdfast.run.id': id,
    ...(runKey && key !== undefined ? { 'holdfast.run.key': key } : {}),
    ...(groupKey && group ? { 'holdfast.group.key': group } : {}),
  }
}
