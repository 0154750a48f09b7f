import type { FailureCause } from '../model/errors.ts'
import type { State } from '../model/state.ts'

/** Why a run does not go on, as `why` answers. Instants are the database's. */
export interface Why {
  readonly run: string
  readonly workflow: string
  readonly group: string | undefined
  readonly state: State
  /** While it waits: how many of its line go before it, and how many wait there in all. */
  readonly ahead: number | undefined
  readonly waiting: number | undefined
  /** When it was so. */
  readonly at: Date
  /** What holds it back, the weightiest first; several may at once. */
  readonly reasons: readonly Reason[]
}

/** A claim that takes a place under a limit. */
export interface Holder {
  readonly run: string
  readonly worker: string | undefined
  /** Its host and process; undefined for a claim by hand. */
  readonly workerName: string | undefined
  readonly since: Date
}

/** What a suspended run waits for. */
export interface OpenWait {
  readonly step: string
  readonly kind: 'sleep' | 'signal' | 'call' | 'park'
  /** The name of the signal. */
  readonly signal: string | undefined
  /** The run whose end it waits for. */
  readonly child: string | undefined
  /** What a person is to decide. */
  readonly reason: string | undefined
  readonly since: Date
  readonly until: Date | undefined
}

/** What holds a run back, or what became of it. */
export type Reason =
  | {
      readonly kind: 'ended'
      readonly state: State
      readonly at: Date
      readonly failure: FailureCause | undefined
      readonly reason: string | undefined
    }
  | {
      readonly kind: 'running'
      readonly since: Date
      readonly leaseUntil: Date
      readonly worker: string | undefined
      readonly workerName: string | undefined
      /** Its worker is gone; the run is taken over within seconds. */
      readonly isDead: boolean
    }
  /** Not due yet: since its start, or since the claim that ended so. */
  | {
      readonly kind: 'scheduled'
      readonly until: Date
      readonly after: 'start' | 'retry' | 'snooze'
      readonly reason: string | undefined
    }
  /** It sleeps, or waits for signals, children or a person; `until`: when it goes on at the latest. */
  | { readonly kind: 'suspended'; readonly until: Date | undefined; readonly waits: readonly OpenWait[] }
  | {
      readonly kind: 'paused'
      readonly since: Date
      readonly by: string | undefined
      readonly reason: string | undefined
    }
  /** No worker that lives has its workflow. */
  | { readonly kind: 'no_worker' }
  /** As many as may run at once do; the oldest 100 of them. */
  | {
      readonly kind: 'concurrency'
      readonly of: 'workflow' | 'group'
      readonly limit: number
      readonly live: number
      readonly holders: readonly Holder[]
    }
  /** As many have begun as may, until then. */
  | {
      readonly kind: 'rate'
      readonly of: 'workflow' | 'group'
      readonly limit: number
      readonly perMs: number
      readonly opensAt: Date
    }
  /** Others of its line go before it. */
  | { readonly kind: 'line'; readonly ahead: number; readonly waiting: number }
  /** All slots of the workers that have its workflow are taken. */
  | { readonly kind: 'slots'; readonly slots: number; readonly running: number }
  /** Nothing holds it back: a worker is about to take it. */
  | { readonly kind: 'due'; readonly since: Date }

/** Names under which an instant is answered. */
const instants = new Set(['at', 'since', 'until', 'leaseUntil', 'opensAt'])

/** What is null there is left out. */
export function toWhy(json: string): Why {
  return JSON.parse(json, (name, value: unknown) =>
    value === null ? undefined : typeof value === 'string' && instants.has(name) ? new Date(value) : value,
  ) as Why
}
