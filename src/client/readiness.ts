import type { Database } from '../db/database.ts'
import { once } from '../db/once.ts'
import { recordDefinitions } from '../db/record-definitions.ts'
import type { Clock } from '../model/clock.ts'
import { ClosedError } from '../model/errors.ts'
import type { Workflow } from '../model/workflow.ts'
import { resend } from './resend.ts'

/** What must be so before a client's call goes out: it is open, the schema is there, and what it starts is on record. */
export class Readiness {
  readonly #database: Database
  readonly #clock: Clock
  readonly #prepare: () => Promise<void>
  readonly #closing = new AbortController()
  readonly #recorded = new Map<string, Promise<void>>()
  #prepared: Promise<void> | undefined

  constructor(database: Database, clock: Clock, prepare: () => Promise<void>) {
    this.#database = database
    this.#clock = clock
    this.#prepare = prepare
  }

  /** Aborts when the client is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  close(): void {
    this.#closing.abort()
  }

  /** Throws ClosedError. */
  requireOpen(): void {
    if (this.#closing.signal.aborted) throw new ClosedError('The client was closed.', { remedy: 'Create a new one.' })
  }

  async ready(): Promise<void> {
    this.requireOpen()
    this.#prepared ??= this.#prepare()
    try {
      await this.#prepared
    } catch (error) {
      this.#prepared = undefined
      throw error
    }
  }

  /** Puts a workflow on record, once. */
  async record(workflow: Workflow): Promise<void> {
    await this.ready()
    await once(this.#recorded, workflow.definition.fingerprint + workflow.name, async () => {
      await resend(this.#clock, () => recordDefinitions(this.#database, [workflow]))
    })
  }
}
