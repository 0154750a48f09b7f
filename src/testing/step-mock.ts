import type { Queryable, Step } from '../model/run.ts'

/** What stands in for a step's body: its answer, the error it throws, or another body. `tx` is there in a transaction's. */
export type StepMock = Error | ((step: Step, tx: Queryable | undefined) => unknown) | {} | null | undefined

/** A mock that was set. */
export interface MockHandle {
  /** How often it stood in for a body. */
  readonly calls: number
  /** Takes it back: the body runs again. */
  restore(): void
}
