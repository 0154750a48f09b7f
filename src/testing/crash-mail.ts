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
  readonly #client: Client
  readonly #runId: string
  readonly #startedMs: number
  readonly #planned: PlannedSignal[]

  constructor(client: Client, runId: string, startedMs: number, planned: readonly PlannedSignal[]) {
    this.#client = client
    this.#runId = runId
    this.#startedMs = startedMs
    this.#planned = planned.toSorted((a, b) => a.afterMs - b.afterMs)
  }

  /** When the next one is due; undefined: there is none. */
  get nextMs(): number | undefined {
    const [next] = this.#planned
    return next && this.#startedMs + next.afterMs
  }

  /** Sends what is due. Answers whether anything was. */
  async send(atMs: number): Promise<boolean> {
    const due = this.#planned.splice(0, this.#planned.filter(({ afterMs }) => this.#startedMs + afterMs <= atMs).length)
    for (const { signal, payload } of due) await this.#client.signal({ id: this.#runId }, signal, payload)
    return due.length > 0
  }
}
