import type { Execution } from '../execute/execution.ts'
import type { Claim } from '../model/claim.ts'
import type { HeldLease } from './held-lease.ts'

/** A claim this worker holds. */
export interface Held {
  readonly claim: Claim
  readonly execution: Execution
  readonly lease: HeldLease
  /** Its settle is on its way: the database may have ended the claim, and looks no more at what comes for the run. */
  isSettling?: boolean | undefined
  /** It was stopped because this process was late, not because the database could not be asked. */
  isLate?: boolean | undefined
}

/** A claim that ended here while the database may still count it as this worker's. */
export interface Dropped {
  readonly token: number
  readonly isLate: boolean
}

/** The claims a worker holds, by run. A run is here at most once, and stays until its settle is through. */
export class Slots {
  readonly #held = new Map<string, Held>()
  readonly #dropped = new Map<string, Dropped>()
  readonly #whenFree = new Map<string, (() => void)[]>()
  #onEmpty: () => void = () => undefined

  get size(): number {
    return this.#held.size
  }

  get(runId: string): Held | undefined {
    return this.#held.get(runId)
  }

  put(held: Held): void {
    this.#held.set(held.claim.id, held)
  }

  free(runId: string): void {
    this.#held.delete(runId)
    if (this.#held.size === 0) this.#onEmpty()
    const waiting = this.#whenFree.get(runId)
    if (!waiting) return
    this.#whenFree.delete(runId)
    for (const resume of waiting) resume()
  }

  /** Frees the slot of a claim that was not settled. */
  drop({ claim: { id, token }, isLate = false }: Held): void {
    this.#dropped.set(id, { token, isLate })
    this.free(id)
  }

  get dropped(): ReadonlyMap<string, Dropped> {
    return this.#dropped
  }

  /** The database knows no more of it. */
  forget(runId: string): void {
    this.#dropped.delete(runId)
  }

  /** Resolves when the run is not held here any more. */
  whenFree(runId: string): Promise<void> {
    if (!this.#held.has(runId)) return Promise.resolve()
    return new Promise((resolve) => {
      this.#whenFree.set(runId, [...(this.#whenFree.get(runId) ?? []), resolve])
    })
  }

  /** Resolves when no claim is held. */
  async whenEmpty(): Promise<void> {
    if (this.#held.size > 0) await new Promise<void>((resolve) => void (this.#onEmpty = resolve))
  }

  /** How many claims of each workflow there are. */
  byWorkflow(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { claim } of this.#held.values()) counts.set(claim.workflow, (counts.get(claim.workflow) ?? 0) + 1)
    return counts
  }

  all(): readonly Held[] {
    return [...this.#held.values()]
  }
}
