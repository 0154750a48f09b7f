/** What the run explorer asks Tempo. A claim is one span, `run {workflow}`, and by default a trace of its own. */

/** A span whose conditions all hold. */
export function span(...conditions: readonly string[]): string {
  return `{ ${conditions.join(' && ')} }`
}

export const isClaim = 'kind = consumer'
export const isStart = 'kind = producer'
export const isStep = 'span.holdfast.step.name != nil'
export const isFailed = 'status = error'
export const isOfRun = 'span.holdfast.run.id = "$run"'
/** Several chosen workflows come as `a|b`, all as `.*`. */
export const isOfWorkflow = 'span.messaging.system = "holdfast" && span.holdfast.workflow.name =~ "$workflow"'

/** The newest, with these attributes beside what Tempo answers anyway. Without the hint it answers any that match. */
export function newest(spans: string, ...attributes: readonly string[]): string {
  return `${spans} | select(${attributes.map((name) => `span.${name}`).join(', ')}) with (most_recent=true)`
}
