import { ArgumentError } from '../model/errors.ts'
import type { NewWait } from '../model/journal.ts'
import type { Definition, Workflow } from '../model/workflow.ts'
import type { StepMocks } from './step-mocks.ts'

/** The workflows of a crash test, each as it runs there. */
export class CrashSubjects {
  readonly main: Workflow
  readonly #byName: ReadonlyMap<string, Workflow>

  constructor(main: Workflow, others: readonly Workflow[], mocks: StepMocks) {
    const subjects = [...others, main].map((workflow) => mocks.open(underTest(workflow)))
    this.#byName = new Map(subjects.map((subject) => [subject.name, subject]))
    this.main = this.of(main.name)
  }

  of(name: string): Workflow {
    const subject = this.#byName.get(name)
    if (subject) return subject
    throw new ArgumentError(`The run started a run of "${name}", which crashTest does not know.`, {
      field: 'workflows',
      remedy: 'Give the workflows of all children: crashTest(workflow, input, { workflows: [child] }).',
    })
  }

  /** A wait for a child, which is to be a run of the subject. One that is not known is refused once it has its turn. */
  child(wait: NewWait): NewWait {
    const { child } = wait
    const workflow = child && this.#byName.get(child.workflow.name)
    return workflow ? { ...wait, child: { ...child, workflow } } : wait
  }
}

/** One run after the other needs no limits, and would wait for some. Where it leaves its record is told and goes on. */
function underTest(workflow: Workflow): Workflow {
  const { definition } = workflow
  return Object.freeze({
    ...workflow,
    definition: Object.freeze({ ...definition, limits: none, onMismatch: 'warn' } satisfies Definition),
  })
}

const none: Definition['limits'] = {
  concurrency: undefined,
  concurrencyPerGroup: undefined,
  rate: undefined,
  ratePerGroup: undefined,
  isFair: false,
}
