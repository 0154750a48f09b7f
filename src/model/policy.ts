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

/** When runs of a workflow start by themselves, and with which input: at the times of `cron`, or once in each stretch of `every`. */
export type Schedule<I = unknown> = ScheduleTiming & ScheduleRules & ScheduledInput<I>

type ScheduleTiming =
  | {
      /** Five fields, or six with the seconds first, such as `'0 9 * * 1-5'`. */
      cron: string
      /** The IANA name of the time zone in which `cron` is read. Default: UTC. */
      zone?: string | undefined
      every?: undefined
    }
  | {
      /** At the multiples of it since 1970, UTC; at least a second. */
      every: Duration
      cron?: undefined
      zone?: undefined
    }

interface ScheduleRules {
  /** What becomes of instants that nobody looked at for 10 s: nothing, one run for all, or a run for each. Default: one. */
  catchUp?: 'none' | 'one' | 'all' | undefined
  /**
   * What becomes of an instant while the last run lives: it is passed over, its run starts once that one has ended (the
   * latest such instant only), or its run starts beside it. Default: skip.
   */
  overlap?: 'skip' | 'queue' | 'allow' | undefined
}

/** It may be left out only where the workflow takes none. */
type ScheduledInput<I> = undefined extends I ? { input?: I | undefined } : { input: I }
