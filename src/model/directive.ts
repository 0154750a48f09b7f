/** Try again as a counted attempt, come back later uncounted, give up for good, or go on as another run. */
export type DirectiveKind = 'retry' | 'snooze' | 'fail' | 'continue'

/** What a directive asks for. Durations are in milliseconds; a `retry` without one uses the workflow's own backoff. */
export type Steer =
  | { readonly kind: 'retry'; readonly delayMs: number | undefined; readonly reason: string | undefined }
  | { readonly kind: 'snooze'; readonly delayMs: number; readonly reason: string | undefined }
  | { readonly kind: 'fail'; readonly reason: string; readonly failureCause: unknown }
  | { readonly kind: 'continue'; readonly input: unknown }

/**
 * How a handler steers its run: made by `run.retry`, `run.snooze`, `run.fail` and `run.continueAs`, then returned or thrown.
 * It is an Error so that throwing one gives a stack, and nominal so that no output can be mistaken for one.
 */
export class Directive extends Error {
  readonly #steer: Steer
  readonly kind: DirectiveKind

  constructor(steer: Steer) {
    super(('reason' in steer ? steer.reason : undefined) ?? steer.kind)
    this.name = 'Directive'
    this.#steer = steer
    this.kind = steer.kind
  }

  /** Reads a directive made by any copy of this class; undefined for anything else. */
  static steerOf(value: unknown): Steer | undefined {
    return typeof value === 'object' && value !== null && #steer in value ? value.#steer : undefined
  }
}

/** What a step or handler answers once directives are taken out. */
export type Answer<R> = Exclude<Awaited<R>, Directive>
