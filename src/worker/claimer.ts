import { Batcher } from '../db/batcher.ts'
import { returnTickets } from '../db/calls.ts'
import { claimRuns } from '../db/claim-calls.ts'
import type { Database } from '../db/database.ts'
import { patiently, type Patience } from '../db/patience.ts'
import type { Registry } from '../define/registry.ts'
import type { Claim } from '../model/claim.ts'
import type { Ticket } from '../queue/runner.ts'
import type { Slots } from './slots.ts'

/** A claim with the moment its request was sent: the lease counts from then. */
export interface Taken {
  readonly claim: Claim
  readonly sentAt: number
}

interface Wanted extends Pick<Ticket, 'run' | 'priority' | 'runAt'> {
  readonly leaseMs: number
}

/**
 * Turns tickets into claims, many in one call. A run is asked for by one call at a time and never while it is held
 * here, so a claim asked for again after a lost reply finds only what that reply would have brought.
 */
export class Claimer {
  readonly #database: Database
  readonly #registry: Registry
  readonly #workerId: string
  readonly #slots: Slots
  readonly #asked = new Map<string, Promise<unknown>>()
  /** Of those, the runs that a lost reply may have brought. */
  readonly #unsure = new Set<string>()
  readonly #batcher: Batcher<Wanted, Taken | undefined>
  #isClosed = false

  constructor(database: Database, registry: Registry, workerId: string, slots: Slots, patience: Patience) {
    this.#database = database
    this.#registry = registry
    this.#workerId = workerId
    this.#slots = slots
    this.#batcher = new Batcher({
      clock: patience.clock,
      until: patience.until,
      compare: (a, b) => a.priority - b.priority || byText(a.runAt, b.runAt) || byText(a.run, b.run),
      flush: (wanted) => this.#claim(wanted, patience),
    })
  }

  /** Undefined: there is nothing to run for this ticket. */
  async claim(ticket: Ticket): Promise<Taken | undefined> {
    const workflow = this.#registry.get(ticket.workflow)
    if (!workflow) return undefined
    // A call already under way may have looked before this ticket was issued.
    for (let asked; (asked = this.#asked.get(ticket.run));) await asked.then(ignore, ignore)
    const held = this.#slots.get(ticket.run)
    if (held) {
      const isOld = ticket.token === undefined || ticket.token < held.claim.token
      if (isOld) return undefined
      // Its claim has ended in the database, and the word of it is on its way here.
      await this.#slots.whenFree(ticket.run)
      return await this.claim(ticket)
    }
    const { run, priority, runAt } = ticket
    const leaseMs = workflow.definition.leaseMs
    const asking = this.#batcher.add({ run, priority, runAt, leaseMs })
    this.#asked.set(run, asking)
    try {
      return await asking
    } finally {
      this.#asked.delete(run)
      this.#unsure.delete(run)
    }
  }

  isAsking(runId: string): boolean {
    return this.#asked.has(runId)
  }

  /** Tickets that come from now on are given back. */
  close(): void {
    this.#isClosed = true
  }

  async #claim(wanted: readonly Wanted[], patience: Patience): Promise<(Taken | undefined)[]> {
    if (this.#isClosed) {
      await returnTickets(
        this.#database,
        wanted.map((ticket) => ticket.run),
      )
      return wanted.map(() => undefined)
    }
    const items = wanted.map(({ run, leaseMs }) => ({ id: run, lease_ms: leaseMs }))
    return await patiently(patience, async (loss) => {
      if (loss > 0) for (const { run } of wanted) this.#unsure.add(run)
      const isRepeated = wanted.some(({ run }) => this.#unsure.has(run))
      const sentAt = patience.clock.monotonic()
      const claims = await claimRuns(this.#database, this.#workerId, items, isRepeated)
      const byRun = new Map(claims.map((claim) => [claim.id, claim]))
      return wanted.map(({ run }) => {
        const claim = byRun.get(run)
        // A handler here may still act under a claim that was dropped: it is given back, and claimed anew.
        return claim && this.#slots.dropped.get(run)?.token !== claim.token ? { claim, sentAt } : undefined
      })
    })
  }
}

const ignore = (): void => undefined

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
