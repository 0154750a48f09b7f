import type { Standing } from '../model/standing.ts'
import type { Observe } from './meters.ts'

/** The gauges that only the database knows. */
export function observeDatabase({ depths, limits }: Standing, observe: Observe): void {
  for (const { workflow, state, count, oldest } of depths) {
    const name = { 'holdfast.workflow.name': workflow }
    observe('holdfast.queue.depth', count, { ...name, 'holdfast.run.state': state })
    if (state === 'waiting') observe('holdfast.queue.oldest.age', oldest ?? 0, name)
  }
  for (const { workflow, kind, usage, limit, saturated } of limits) {
    const which = { 'holdfast.workflow.name': workflow, 'holdfast.limit.kind': kind }
    observe('holdfast.limit.usage', usage, which)
    observe('holdfast.limit.limit', limit, which)
    observe('holdfast.limit.saturated', saturated, which)
  }
}
