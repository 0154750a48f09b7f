import type { Execution } from '../execute/execution.ts'
import type { Claim } from '../model/claim.ts'

/** A claim this worker holds. */
export interface Held {
  readonly claim: Claim
  readonly execution: Execution
  readonly leaseMs: number
  /** When the last accepted request for the lease was sent, by the clock's monotonic time. */
  leasedAt: number
}

interface Entry {
  readonly held: Held
  readonly freed: Promise<void>
  readonly free: () => void
}

/** The claims a worker holds, by run. A run is here at most once, and stays until its settle is through. */
export class Slots {
  readonly #entries = new Map<string, Entry>()

  get size(): number {
    return this.#entries.size
  }

  get(runId: string): Held | undefined {
    return this.#entries.get(runId)?.held
  }

  put(held: Held): void {
    let free: () => void = () => undefined
    const freed = new Promise<void>((resolve) => void (free = resolve))
    this.#entries.set(held.claim.id, { held, freed, free })
  }

  free(runId: string): void {
    this.#entries.get(runId)?.free()
    this.#entries.delete(runId)
  }

  /** Resolves when the run is not held here any more. */
  async whenFree(runId: string): Promise<void> {
    await this.#entries.get(runId)?.freed
  }

  all(): readonly Held[] {
    return Array.from(this.#entries.values(), (entry) => entry.held)
  }
}
