import type { State } from './state.ts'

/** A run by its id; what `start` returned is one. */
export interface RunRef<O = unknown> {
  readonly id: string
  /** Types only; never there at run time. */
  readonly '~output'?: O
}

/** A workflow, as far as starting its runs goes. */
export interface Startable<I, O> {
  readonly name: string
  readonly definition: object
  // oxlint-disable-next-line typescript/no-explicit-any -- what its handler gets does not matter here
  readonly '~types'?: { readonly input: I; readonly parsed: any; readonly output: O }
}

/** What `start` and its like take after the workflow: the input may be left out only where the workflow takes none. */
export type StartArgs<I, O> = undefined extends I ? [input?: NoInfer<I>, options?: O] : [input: NoInfer<I>, options?: O]

/** One start as the database takes it. Durations are in milliseconds; `at` is ISO 8601. */
export interface StartItem {
  readonly id: string
  readonly workflow: string
  readonly key: string | undefined
  readonly group_key: string | undefined
  readonly priority: number
  readonly max_attempts: number
  readonly at: string | undefined
  readonly delay_ms: number | undefined
  readonly deadline_ms: number | undefined
  readonly dedupe_ms: number
  readonly keep_ms: number
  readonly keep_done_ms: number
  readonly max_waiting: number | undefined
  readonly metadata: Readonly<Record<string, string>> | undefined
  readonly input: string
  readonly input_types: string | null
  /** Of a child. */
  readonly parent_id?: string | undefined
  readonly is_cancelled_with_parent?: boolean | undefined
  readonly allow_different_input?: boolean | undefined
  /** The run that ends for this one to go on under its key. */
  readonly continues?: string | undefined
  /** The W3C trace context of what starts it. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

/** What the database made of a start. */
export interface StartRow {
  readonly n: number
  /** Null, like the state, if the run was not made. */
  readonly id: string | null
  readonly is_created: boolean
  readonly state: State | null
  readonly is_same_workflow: boolean
  readonly is_same_input: boolean
  /** It was not made, since as many runs of its workflow wait as may. */
  readonly is_full: boolean
}
