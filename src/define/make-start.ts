import type { Clock } from '../model/clock.ts'
import { encode } from '../model/codec.ts'
import { ArgumentError, IdConflictError, KeyReusedError, QueueFullError } from '../model/errors.ts'
import { uuidv7 } from '../model/id.ts'
import type { RunRef, StartItem, StartRow } from '../model/start-item.ts'
import type { State } from '../model/state.ts'
import { unstorable } from '../model/storable.ts'
import type { Workflow } from '../model/workflow.ts'
import { isWorkflow } from './define-workflow.ts'
import { parseInput } from './parse-schema.ts'
import { parseStartOptions, type ResolvedStartOptions } from './parse-start-options.ts'
import type { StartOptions } from './start-options.ts'

/** What `start` answers. */
export interface Started<O = unknown> extends RunRef<O> {
  /** False: the id or key named a run that was there already, and nothing was added. */
  readonly created: boolean
  readonly state: State
}

/** One start, checked and ready to be sent. */
export interface Start {
  readonly item: StartItem
  readonly options: ResolvedStartOptions
}

const longestGroup = 512

/** Throws ArgumentError for what defineWorkflow has not made. */
export function requireWorkflow(workflow: unknown, call: string): asserts workflow is Workflow {
  if (isWorkflow(workflow)) return
  throw new ArgumentError(`${call} was given something else than a workflow.`, {
    field: 'workflow',
    remedy: 'Pass what defineWorkflow returned.',
  })
}

/** Throws a typed error for whatever is wrong with a start, before anything is written. */
export async function makeStart(
  workflow: Workflow,
  input: unknown,
  given: StartOptions | undefined,
  clock: Clock,
): Promise<Start> {
  const { name, definition } = workflow
  const options = parseStartOptions(given, name)
  const encoded = encode(input, 'input')
  const parsed = await parseInput(definition, input)
  const item: StartItem = {
    id: options.id ?? uuidv7(clock),
    workflow: name,
    key: options.key,
    // Where groups are told apart, the runs in none are a line too.
    group_key: definition.group && (readGroup(definition.group(parsed as never), name) ?? ''),
    priority: options.priority ?? definition.priority,
    max_attempts: options.maxAttempts ?? definition.maxAttempts,
    at: options.at?.toISOString(),
    delay_ms: options.delayMs,
    deadline_ms: definition.deadlineMs,
    dedupe_ms: definition.dedupeMs,
    keep_ms: definition.keepMs,
    keep_done_ms: definition.keepDoneMs,
    max_waiting: definition.maxWaiting,
    metadata: Object.keys(options.metadata).length === 0 ? undefined : options.metadata,
    input: encoded.json,
    input_types: encoded.types,
  }
  return { item, options }
}

/** What the database made of a start. Throws if the id or key named a run it must not, or if no more may wait. */
export function readStarted({ item, options }: Start, row: StartRow): Started {
  if (row.is_full || row.id === null || row.state === null) {
    throw new QueueFullError(`As many runs of "${item.workflow}" wait as its maxWaiting allows.`, {
      field: 'maxWaiting',
      remedy: 'Start it again later, or run more workers.',
    })
  }
  if (!row.is_same_workflow) {
    throw new IdConflictError(`The id ${item.id} is that of a run of another workflow.`, {
      field: 'id',
      remedy: 'Leave the id out, or use one id for one run.',
    })
  }
  if (!row.is_same_input && !options.allowDifferentInput) {
    throw new KeyReusedError(`"${options.key ?? item.id}" names a run that was started with another input.`, {
      field: options.key === undefined ? 'id' : 'key',
      remedy: 'Use another key, or pass allowDifferentInput: true to get that run.',
    })
  }
  // An id made here cannot name an older run: if it is there, a reply was lost on the way.
  const isOwn = options.id === undefined && row.id === item.id
  return { id: row.id, created: row.is_created || isOwn, state: row.state }
}

/** The group of a run, as `group` answered or the command line was given; undefined: none. */
export function readGroup(group: unknown, workflow: string): string | undefined {
  if (group === undefined) return undefined
  const problem =
    typeof group !== 'string'
      ? `is ${group === null ? 'null' : `a ${typeof group}`}`
      : group === '' || group.length > longestGroup
        ? `has ${group.length} characters`
        : unstorable(group)
  if (problem === undefined) return group as string
  throw new ArgumentError(`The group of a run of "${workflow}" ${problem}.`, {
    field: 'group',
    remedy: `group must answer a text of 1 to ${longestGroup} characters, or undefined for no group.`,
  })
}
