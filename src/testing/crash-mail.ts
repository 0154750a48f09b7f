import type { Client } from '../client/client.ts'
import type { Signal } from '../model/signal.ts'

/** A signal that each run of a crash test gets. */
export interface PlannedSignal {
  readonly signal: Signal | string
  readonly payload: unknown
  /** How long after the run's start. */
  readonly afterMs: number
}

/** The signals that one run has still to get, each at its time. */
export class CrashMail {
  /** By the database's clock; undefined: it has just been started. */
  startedMs: number | undefined
  readonly #client: Client
  readonly #runId: string
  readonly #planned: PlannedSignal[]

  constructor(client: Client, runId: string, planned: readonly PlannedSignal[]) {
    this.#client = client
    this.#runId = runId
    this.#planned = planned.toSorted((a, b) => a.afterMs - b.afterMs)
  }

  /** When the next one is due; undefined: there is none. */
  get nextMs(): number | undefined {
    const [next] = this.#planned
    return next && this.startedMs !== undefined ? this.startedMs + next.afterMs : undefined
  }

  /** Sends what is due by then; without a time, what is due at the start. Answers whether anything was. */
  async send(atMs: number | undefined = this.startedMs): Promise<boolean> {
    const { startedMs } = this
    const elapsedMs = startedMs === undefined || atMs === undefined ? 0 : atMs - startedMs
    const due = this.#planned.filter(({ afterMs }) => afterMs <= elapsedMs)
    this.#planned.splice(0, due.length)
    for (const { signal, payload } of due) await this.#client.signal({ id: this.#runId }, signal, payload)
    return due.length > 0
  }
}
