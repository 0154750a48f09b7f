import { ConfigError } from '../model/errors.ts'
import type { Workflow } from '../model/workflow.ts'
import { isWorkflow } from './define-workflow.ts'
import { describeValue } from './describe-value.ts'

/** The workflows a worker runs, by name. */
export interface Registry {
  readonly names: readonly string[]
  readonly workflows: readonly Workflow[]
  get(name: string): Workflow | undefined
}

export function createRegistry(workflows: readonly Workflow[]): Registry {
  if (!Array.isArray(workflows) || workflows.length === 0) {
    throw new ConfigError(`workflows got ${describeValue(workflows)}.`, {
      field: 'workflows',
      remedy: 'Give an array of at least one workflow.',
    })
  }
  const byName = new Map<string, Workflow>()
  // by index, since `entries` and `forEach` differ on holes
  for (let index = 0; index < workflows.length; index++) {
    const workflow: unknown = workflows[index]
    const field = `workflows[${index}]`
    if (!isWorkflow(workflow)) {
      const hint = workflow === undefined ? ' An import that its file does not export is undefined.' : ''
      throw new ConfigError(`${field} got ${describeValue(workflow)}.`, {
        field,
        remedy: `Give what defineWorkflow returned.${hint}`,
      })
    }
    if (byName.has(workflow.name)) {
      throw new ConfigError(`${field}: there are two workflows named '${workflow.name}'.`, {
        field,
        remedy: 'List each workflow once, and give each its own name.',
      })
    }
    byName.set(workflow.name, workflow)
  }
  return Object.freeze({
    names: Object.freeze([...byName.keys()]),
    workflows: Object.freeze([...byName.values()]),
    get: (name: string) => byName.get(name),
  })
}
