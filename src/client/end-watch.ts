import { endedRuns } from '../db/run-calls.ts'
import type { Database } from '../db/database.ts'
import type { Clock } from '../model/clock.ts'
import { ClosedError, DatabaseUnreachableError } from '../model/errors.ts'

const firstPollMs = 5
const longestPollMs = 250

interface Watcher {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Waits for runs to end. However many are waited for, one question at a time is asked about all of them. */
export class EndWatch {
  readonly #database: Database
  readonly #clock: Clock
  readonly #watchers = new Map<string, Set<Watcher>>()
  readonly #closing = new AbortController()
  #pollMs = firstPollMs
  #isPolling = false

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** Resolves when the run has ended or is not there; rejects when the signal aborts or the client is closed. */
  async wait(runId: string, abortSignal?: AbortSignal): Promise<void> {
    abortSignal?.throwIfAborted()
    this.#pollMs = firstPollMs
    const watchers = this.#watchers.get(runId) ?? new Set<Watcher>()
    this.#watchers.set(runId, watchers)
    await new Promise<void>((resolve, reject) => {
      const leave = (settle: () => void) => (): void => {
        abortSignal?.removeEventListener('abort', abort)
        watchers.delete(watcher)
        if (watchers.size === 0) this.#watchers.delete(runId)
        settle()
      }
      const watcher: Watcher = { resolve: leave(resolve), reject: (error) => leave(() => reject(error))() }
      const abort = (): void => watcher.reject(abortSignal?.reason)
      abortSignal?.addEventListener('abort', abort)
      watchers.add(watcher)
      if (!this.#isPolling) void this.#poll()
    })
  }

  close(): void {
    this.#closing.abort()
    for (const watcher of this.#all()) watcher.reject(new ClosedError('The client was closed.'))
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    while (this.#watchers.size > 0 && !this.#closing.signal.aborted) {
      try {
        const ended = await endedRuns(this.#database, [...this.#watchers.keys()])
        for (const id of ended) for (const watcher of this.#watchers.get(id) ?? []) watcher.resolve()
        if (ended.length > 0) this.#pollMs = firstPollMs
      } catch (error) {
        // While the database cannot be reached nothing ends; the answer comes when it is back.
        if (!(error instanceof DatabaseUnreachableError)) for (const watcher of this.#all()) watcher.reject(error)
      }
      if (this.#watchers.size > 0) await this.#clock.sleep(this.#pollMs, this.#closing.signal)
      this.#pollMs = Math.min(longestPollMs, this.#pollMs * 1.5)
    }
    this.#isPolling = false
  }

  #all(): Watcher[] {
    return [...this.#watchers.values()].flatMap((watchers) => [...watchers])
  }
}
