import { makeStart, readStarted, requireWorkflow, type Start } from '../define/make-start.ts'
import type { StartOptions } from '../define/start-options.ts'
import { ArgumentError } from '../model/errors.ts'
import { derivedId } from '../model/id.ts'
import type { ChildOptions } from '../model/run.ts'
import type { StartRow } from '../model/start-item.ts'
import type { Workflow } from '../model/workflow.ts'
import type { Calls } from './calls.ts'
import { handOut } from './step-call.ts'
import type { Ask } from './open-wait.ts'
import type { Waits } from './waits.ts'

/** The runs that a claim starts. A child's id follows from its parent, the call's key and the parent's series of attempts. */
export class Children {
  readonly #calls: Calls
  readonly #waits: Waits

  constructor(calls: Calls, waits: Waits) {
    this.#calls = calls
    this.#waits = waits
  }

  make(kind: 'call' | 'start', workflow: Workflow, input: unknown, options: ChildOptions = {}): Promise<unknown> {
    const name = nameOf(workflow)
    let start: Start | undefined
    return this.#waits.wait(
      `[${kind}]${name}`,
      async (key): Promise<Ask> => {
        requireWorkflow(workflow, `run.${kind}`)
        const { abandon = kind === 'start', ...rest } = options
        start = await this.#start(workflow, key, input, rest, abandon)
        return { kind, child: { workflow, item: start.item } }
      },
      (outcome, caller) => handOut(outcome, this.#calls.options, caller),
      (row) => refusal(start, row),
    )
  }

  async #start(
    workflow: Workflow,
    key: string,
    input: unknown,
    options: ChildOptions,
    abandon: unknown,
  ): Promise<Start> {
    const { clock, runId, retries, trace } = this.#calls.options
    if (typeof abandon !== 'boolean' || 'id' in options || 'tx' in options) {
      throw new ArgumentError('A child takes no id and no tx, and abandon is true or false.', {
        field: typeof abandon === 'boolean' ? ('id' in options ? 'id' : 'tx') : 'abandon',
        remedy: 'Its id follows from the call that makes it.',
      })
    }
    const given: StartOptions = { ...options, id: derivedId(runId, key, retries) }
    const { item, options: read } = await makeStart(workflow, input, given, clock)
    return {
      options: read,
      item: {
        ...item,
        ...trace.carrier,
        parent_id: runId,
        is_cancelled_with_parent: !abandon,
        allow_different_input: read.allowDifferentInput,
      },
    }
  }
}

function nameOf(workflow: unknown): string {
  const name: unknown = typeof workflow === 'object' && workflow !== null ? Reflect.get(workflow, 'name') : undefined
  return typeof name === 'string' ? name : 'unknown'
}

function refusal(start: Start | undefined, row: StartRow): Error {
  try {
    if (start) readStarted(start, row)
  } catch (error) {
    return error as Error
  }
  return new ArgumentError('The child was not started.', { field: 'workflow' })
}
