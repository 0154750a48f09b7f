import type { Queryable, Run, Step } from '../model/run.ts'
import type { Workflow } from '../model/workflow.ts'
import type { MockHandle, StepMock } from './step-mock.ts'
import { parseMockOptions, type MockOptions } from './testing-options.ts'
import { replaced, withRun } from './with-run.ts'

/**
 * Bodies that others stand in for. They take the body's place in the call on `run`, so that all else about a step (its
 * key, its memo, its tries) is the real thing. The newest mock that has any use left goes first.
 */
export class StepMocks {
  #mocks: Mock[] = []

  add(name: string, how: StepMock, options: MockOptions | undefined): MockHandle {
    const { times, workflow } = parseMockOptions(options)
    const mock = new Mock(name, how, workflow, times, () => {
      this.#mocks = this.#mocks.filter((each) => each !== mock)
    })
    this.#mocks.unshift(mock)
    return mock
  }

  /** The same workflow with its steps open to mocks. */
  open(workflow: Workflow): Workflow {
    return withRun(workflow, (run) =>
      replaced(run, {
        step: (name, fn, options) =>
          run.step(name, ((step) => this.#stand(run, name, step, undefined, () => fn(step))) as typeof fn, options),
        transaction: (name, fn, options) =>
          run.transaction(
            name,
            (async (tx, step) => await this.#stand(run, name, step, tx, () => fn(tx, step))) as typeof fn,
            options,
          ),
      }),
    )
  }

  #stand(run: Run, name: string, step: Step, tx: Queryable | undefined, body: () => unknown): unknown {
    const mock = this.#mocks.find((each) => each.isFor(run.workflow, name))
    return mock ? mock.stand(step, tx) : body()
  }
}

class Mock implements MockHandle {
  readonly restore: () => void
  readonly #name: string
  readonly #how: StepMock
  readonly #workflow: string | undefined
  readonly #times: number
  #calls = 0

  constructor(name: string, how: StepMock, workflow: string | undefined, times: number, restore: () => void) {
    this.#name = name
    this.#how = how
    this.#workflow = workflow
    this.#times = times
    this.restore = restore
  }

  get calls(): number {
    return this.#calls
  }

  isFor(workflow: string, name: string): boolean {
    return name === this.#name && this.#calls < this.#times && (this.#workflow ?? workflow) === workflow
  }

  stand(step: Step, tx: Queryable | undefined): unknown {
    this.#calls += 1
    const how = this.#how
    if (how instanceof Error) throw how
    return typeof how === 'function' ? (how as (...args: unknown[]) => unknown)(step, tx) : how
  }
}
