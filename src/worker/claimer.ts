import { Batcher } from '../db/batcher.ts'
import { claimLines, claimRuns, returnTickets } from '../db/claim-calls.ts'
import type { Database } from '../db/database.ts'
import { patiently, type Patience } from '../db/patience.ts'
import type { Registry } from '../define/registry.ts'
import type { Claim } from '../model/claim.ts'
import type { ResolvedLimits } from '../model/workflow.ts'
import type { Ticket } from '../queue/runner.ts'
import type { Slots } from './slots.ts'

/** A claim with the moment its request was sent: the lease counts from then. */
export interface Taken {
  readonly claim: Claim
  readonly sentAt: number
}

export interface ClaimerOptions {
  readonly database: Database
  readonly registry: Registry
  readonly workerId: string
  readonly slots: Slots
  readonly patience: Patience
  /** Told of each call with many items: which, and how many. */
  readonly onFlush: (call: string, size: number) => void
}

interface Wanted extends Pick<Ticket, 'workflow' | 'group' | 'priority' | 'runAt'> {
  readonly run: string
  readonly lease_ms: number
}

type WantedOfLine = Omit<Wanted, 'run'> & Pick<Ticket, 'run'>

/** The workflow turned out to be limited, or not to be: the ticket is to go the other way. */
const otherWay = Symbol('other way')

type Answer = Taken | typeof otherWay | undefined

/**
 * Turns tickets into claims, many in one call.
 *
 * 1. Tickets of limited workflows go apart, so that no other waits for a limit's lock. Which workflows those are, the
 *    database says: what is remembered of it here only saves asking twice.
 * 2. Without a limit, a ticket is for its run. That is asked for by one call at a time and never while it is held here, so
 *    a claim asked for again after a lost reply finds only what that reply would have brought.
 * 3. Under a limit, a ticket is for its line: what comes is the best that waits there. What a lost reply had brought is
 *    found by the renewals, and given back.
 */
export class Claimer {
  readonly #database: Database
  readonly #registry: Registry
  readonly #workerId: string
  readonly #slots: Slots
  readonly #limited: Set<string>
  readonly #asked = new Map<string, Promise<unknown>>()
  /** Of those, the runs that a lost reply may have brought. */
  readonly #unsure = new Set<string>()
  readonly #runs: Batcher<Wanted, Answer>
  readonly #lines: Batcher<WantedOfLine, Answer>
  #isClosed = false

  constructor({ database, registry, workerId, slots, patience, onFlush }: ClaimerOptions) {
    this.#database = database
    this.#registry = registry
    this.#workerId = workerId
    this.#slots = slots
    const limited = registry.workflows.filter(({ definition }) => isLimited(definition.limits))
    this.#limited = new Set(limited.map(({ name }) => name))
    const { clock, until } = patience
    const options = { clock, until, compare: byRank, onFlush: (size: number) => onFlush('claim', size) }
    this.#runs = new Batcher<Wanted, Answer>({ ...options, flush: (wanted) => this.#claimRuns(wanted, patience) })
    this.#lines = new Batcher<WantedOfLine, Answer>({
      ...options,
      // A second would mostly wait for the first one's lines, with locks of its own.
      inFlight: 1,
      flush: (wanted) => this.#claimLines(wanted, patience),
    })
  }

  /** Undefined: there is nothing to run for this ticket. */
  async claim(ticket: Ticket): Promise<Taken | undefined> {
    const workflow = this.#registry.get(ticket.workflow)
    if (!workflow) return undefined
    const leaseMs = workflow.definition.leaseMs
    let answer: Answer = otherWay
    while (answer === otherWay) {
      if (this.#limited.has(ticket.workflow)) {
        answer = await this.#lines.add({ ...ticket, lease_ms: leaseMs })
        if (answer === otherWay) this.#limited.delete(ticket.workflow)
      } else {
        answer = ticket.run === undefined ? otherWay : await this.#claimRun({ ...ticket, run: ticket.run }, leaseMs)
        if (answer === otherWay) this.#limited.add(ticket.workflow)
      }
    }
    return answer
  }

  isAsking(runId: string): boolean {
    return this.#asked.has(runId)
  }

  /** Tickets that come from now on are given back. */
  close(): void {
    this.#isClosed = true
  }

  async #claimRun(ticket: Ticket & { readonly run: string }, leaseMs: number): Promise<Answer> {
    const { run } = ticket
    // A call already under way may have looked before this ticket was issued.
    for (let asked; (asked = this.#asked.get(run));) await asked.then(ignore, ignore)
    const held = this.#slots.get(run)
    if (held) {
      // What came for a run is seen by its claim's settle, unless that was sent before.
      const isOld = ticket.token === undefined ? !held.isSettling : ticket.token < held.claim.token
      if (isOld) return undefined
      // Its claim has ended in the database, or is about to, and the word of it is on its way here.
      await this.#slots.whenFree(run)
      return await this.#claimRun(ticket, leaseMs)
    }
    const asking = this.#runs.add({ ...ticket, lease_ms: leaseMs })
    this.#asked.set(run, asking)
    try {
      return await asking
    } finally {
      this.#asked.delete(run)
      this.#unsure.delete(run)
    }
  }

  async #claimRuns(wanted: readonly Wanted[], patience: Patience): Promise<Answer[]> {
    if (this.#isClosed) return await this.#return(wanted)
    const items = wanted.map(({ run, lease_ms }) => ({ id: run, lease_ms }))
    return await patiently(patience, async (loss) => {
      if (loss > 0) for (const { run } of wanted) this.#unsure.add(run)
      const isRepeated = wanted.some(({ run }) => this.#unsure.has(run))
      const sentAt = patience.clock.monotonic()
      const { claims, others } = await claimRuns(this.#database, this.#workerId, items, isRepeated)
      const byRun = new Map(claims.map((claim) => [claim.id, claim]))
      const limited = new Set(others)
      return wanted.map(({ run }) => {
        if (limited.has(run)) return otherWay
        const claim = byRun.get(run)
        // A handler here may still act under a claim that was dropped: it is given back, and claimed anew.
        return claim && this.#slots.dropped.get(run)?.token !== claim.token ? { claim, sentAt } : undefined
      })
    })
  }

  async #claimLines(wanted: readonly WantedOfLine[], patience: Patience): Promise<Answer[]> {
    if (this.#isClosed) return await this.#return(wanted)
    return await patiently(patience, async () => {
      const sentAt = patience.clock.monotonic()
      const { claims, others } = await claimLines(this.#database, this.#workerId, wanted)
      const unlimited = new Set(others)
      const next = claims.values()
      return wanted.map(({ run }) => {
        if (run !== undefined && unlimited.has(run)) return otherWay
        const claim = next.next().value
        return claim && { claim, sentAt }
      })
    })
  }

  async #return(wanted: readonly WantedOfLine[]): Promise<undefined[]> {
    await returnTickets(this.#database, wanted)
    return wanted.map(() => undefined)
  }
}

function isLimited({ isFair, ...caps }: ResolvedLimits): boolean {
  return isFair || Object.values(caps).some((cap) => cap !== undefined)
}

function byRank(a: WantedOfLine, b: WantedOfLine): number {
  return a.priority - b.priority || byText(a.runAt, b.runAt) || byText(a.run ?? '', b.run ?? '')
}

const ignore = (): void => undefined

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
