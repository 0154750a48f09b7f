/** A length of time: milliseconds, or text such as `'30s'`, `'1h30m'`, `'3d'` (ms s m h d w). */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd' | 'w'}` | (string & {})

/** How long to wait before trying again: `initial * factor^(n-1)`, at most `max`, each ± `jitter`. */
export interface RetryPolicy {
  /** Wait before the second try. Default 1s. */
  initial?: Duration | undefined
  /** Each wait is this many times the one before. Default 2. */
  factor?: number | undefined
  /** The longest wait. Default 1h. */
  max?: Duration | undefined
  /** Share by which a wait is lengthened or shortened at random. Default 0.1, that is ±10 %. */
  jitter?: number | undefined
  /** Error classes after which there is no further try. Default []. */
  nonRetryable?: readonly ErrorClass[] | undefined
}

/** A class of errors, abstract ones too. */
export type ErrorClass = abstract new (...args: never[]) => Error

/** So many in any stretch of time so long. */
export interface Rate {
  limit: number
  per: Duration
}

/** Caps on how many runs of a workflow, or of one group of it, run at once or start in a stretch of time. */
export interface Limits<I> {
  /** The group of a run, from its parsed input; undefined: only the workflow's own limits apply. */
  group?: ((input: I) => string | undefined) | undefined
  /** How many run at once: of the workflow, or `{ limit, perGroup }`. Default: no cap. */
  concurrency?: number | { limit?: number | undefined; perGroup?: number | undefined } | undefined
  /** How many begin in any stretch of `per`: of the workflow, and `perGroup` of each group. Default: no cap. */
  rate?: Rate | { limit?: number | undefined; per?: Duration | undefined; perGroup: Rate } | undefined
  /** Slots go round-robin between groups. Default: false. */
  fair?: boolean | undefined
}
