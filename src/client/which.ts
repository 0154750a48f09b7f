import { isWorkflow } from '../define/define-workflow.ts'
import { describeValue } from '../define/describe-value.ts'
import { ArgumentError } from '../model/errors.ts'
import { isUuid } from '../model/id.ts'
import { unstorable } from '../model/storable.ts'
import type { Workflow } from '../model/workflow.ts'
import type { RunRef } from '../model/start-item.ts'

/** Names a run: its id, what `start` returned, or a workflow and key. */
export type Which<O = unknown> =
  | string
  | RunRef<O>
  // oxlint-disable-next-line typescript/no-explicit-any -- a workflow of any input
  | { readonly workflow: Workflow<any, any, O> | string; readonly key: string }

/** Throws ArgumentError for anything that names no run. */
export function readWhich(run: Which): { id?: string; workflow?: string; key?: string } {
  const given: unknown = run
  if (typeof given === 'object' && given !== null && 'key' in given && 'workflow' in given) {
    const { workflow, key } = given
    const name = isWorkflow(workflow) ? workflow.name : workflow
    if (typeof name === 'string' && typeof key === 'string') {
      requireStorable(name, 'run.workflow')
      requireStorable(key, 'run.key')
      return { workflow: name, key }
    }
  }
  const id = typeof given === 'object' && given !== null && 'id' in given ? given.id : given
  if (isUuid(id)) return { id }
  throw new ArgumentError(`A run is named by its id, not by ${describeValue(id)}.`, {
    field: 'run',
    remedy: 'Pass a UUID, what start returned, or { workflow, key }.',
  })
}

/** Refuses text that no row can hold: sent to the database it would be an error, or find another's row. */
function requireStorable(text: string, field: string): void {
  const problem = unstorable(text)
  if (problem === undefined) return
  throw new ArgumentError(`${field} ${problem}, and nothing is stored under such a text.`, {
    field,
    remedy: 'Give the text under which it was stored.',
  })
}
