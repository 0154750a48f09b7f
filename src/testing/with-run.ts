import type { Run } from '../model/run.ts'
import type { Workflow } from '../model/workflow.ts'

/** The same workflow, whose handler gets what `change` makes of its `run`. */
export function withRun(workflow: Workflow, change: (run: Run) => Run): Workflow {
  const { definition } = workflow
  const handler = (input: never, run: Run): unknown => definition.handler(input, change(run))
  return Object.freeze({ ...workflow, definition: Object.freeze({ ...definition, handler }) })
}

/** A copy of `run` with other functions in the place of some. What it reads anew each time stays so. */
export function replaced(run: Run, functions: Partial<Run>): Run {
  const own = Object.getOwnPropertyDescriptors(run)
  return Object.defineProperties({}, { ...own, ...Object.getOwnPropertyDescriptors(functions) }) as Run
}
