import type { Clock } from '../model/clock.ts'
import { decode } from '../model/codec.ts'
import { ConfigError } from '../model/errors.ts'
import type { StartItem } from '../model/start-item.ts'
import type { ResolvedSchedule, Workflow } from '../model/workflow.ts'
import { makeStart } from './make-start.ts'

type ScheduledInput = Pick<ResolvedSchedule, 'inputJson' | 'inputTypes'>

/**
 * The start of a schedule's run for an instant; `lateMs` is how long ago that was. Throws what a start with that input
 * throws. Its key lets no instant have two runs, whoever decides.
 */
export async function makeScheduled(
  workflow: Workflow,
  { inputJson, inputTypes }: ScheduledInput,
  atMs: number,
  lateMs: number,
  clock: Clock,
): Promise<StartItem> {
  const at = new Date(atMs)
  const scheduledFor = at.toISOString()
  const options = { at, key: `schedule ${scheduledFor}`, metadata: { scheduledFor } }
  const { item } = await makeStart(workflow, decode(inputJson, inputTypes), options, clock)
  // A deadline counts from when the run is due, and a run that is made up for has as long as any other.
  return { ...item, deadline_ms: item.deadline_ms && item.deadline_ms + Math.max(0, lateMs) }
}

/** Throws ConfigError if runs of its schedule could not be started. */
export async function requireScheduled(workflow: Workflow, clock: Clock): Promise<void> {
  const { schedule } = workflow.definition
  if (schedule === undefined) return
  try {
    await makeScheduled(workflow, schedule, 0, 0, clock)
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(`workflow '${workflow.name}': schedule.input starts no run: ${said}`, {
      field: 'schedule.input',
      remedy: 'Give schedule.input what client.start would take.',
      cause,
    })
  }
}
