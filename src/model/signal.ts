import type { Schema } from './schema.ts'

/** A kind of message to runs: `T` is what a waiting handler gets, `I` what a sender gives. Made by `defineSignal`. */
// oxlint-disable-next-line typescript/no-explicit-any -- a sender's type where only the receiver's matters
export interface Signal<T = unknown, I = any> {
  readonly name: string
  readonly schema: Schema | undefined
  /** Types only; never there at run time. */
  readonly '~types'?: { readonly input: I; readonly output: T }
}
