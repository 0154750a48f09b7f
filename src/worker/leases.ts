import type { LeaseItem, LeaseRenewal } from '../db/calls.ts'
import type { Clock, Timer } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import type { Meter } from '../trace/tracing.ts'
import type { Part } from './part.ts'
import type { Held, Slots } from './slots.ts'
import { renewalRetryMs, type Timings } from './timings.ts'

/**
 * Keeps the claims of a worker leased, and stops those that are not any more.
 *
 * 1. One renewal at a time, of all claims, which is the worker's heartbeat too.
 * 2. A claim whose lease was not accepted for long enough is stopped before another worker can have it: the watchdog
 *    counts from when the last accepted request was sent, so a slow answer never lengthens a lease.
 * 3. What the database counts as this worker's and is not held here is given back once two renewals have found it so:
 *    the first may have crossed with a claim and its end.
 */

export interface Stray {
  readonly id: string
  readonly token: number
  /** Whether its process was to blame, so that it counts as an attempt. */
  readonly isLate: boolean
}

export interface LeasesOptions {
  readonly slots: Slots
  /** Renews, and answers what became of each, and what is astray. Rejects when the database cannot be asked. */
  readonly renew: (items: readonly LeaseItem[]) => Promise<readonly LeaseRenewal[]>
  /** Whether the run is held here or just asked for. */
  readonly isKnown: (runId: string) => boolean
  readonly onStray: (stray: Stray) => void
  /** The shortest lease of any workflow here. */
  readonly leaseMs: number
  readonly timings: Timings
  readonly clock: Clock
  readonly log: Logger
  readonly meters: Meter
}

export class Leases implements Part {
  readonly #options: LeasesOptions
  readonly #watchMs: number
  #isStopped = true
  #renewTimer: Timer | undefined
  #watchTimer: Timer | undefined
  #renewing: Promise<void> = Promise.resolve()
  #watchedAt = 0
  #isRenewing = false
  #isHasty = false
  /** Tokens of runs that the last renewal found astray. */
  #astray = new Map<string, number>()

  constructor(options: LeasesOptions) {
    this.#options = options
    this.#watchMs = Math.min(1_000, options.leaseMs / 20)
  }

  async start(): Promise<void> {
    this.#isStopped = false
    this.#watchedAt = this.#options.clock.monotonic()
    this.#watch()
    this.#arm(this.#options.leaseMs * this.#options.timings.renewAfter)
    await Promise.resolve()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#renewTimer?.cancel()
    this.#watchTimer?.cancel()
    await this.#renewing
  }

  /** Renews soon: there may be claims that nobody here knows of. */
  hasten(): void {
    this.#isHasty = true
    // One under way sees to it when it is through.
    if (this.#isRenewing) return
    this.#renewTimer?.cancel()
    this.#arm(renewalRetryMs(this.#options.leaseMs))
  }

  #arm(ms: number): void {
    if (this.#isStopped) return
    this.#renewTimer = this.#options.clock.after(ms, () => void (this.#renewing = this.#renew()))
  }

  async #renew(): Promise<void> {
    const { slots, renew, isKnown, clock, log, leaseMs, timings, meters } = this.#options
    const held = slots.all()
    const dropped = [...slots.dropped]
    const sentAt = clock.monotonic()
    this.#isRenewing = true
    this.#isHasty = false
    let again = leaseMs * timings.renewAfter
    try {
      const items = held.map(({ claim, lease }) => ({ id: claim.id, token: claim.token, lease_ms: lease.leaseMs }))
      const answered = await renew(items)
      meters.record('holdfast.lease.renewal.duration', (clock.monotonic() - sentAt) / 1000, {})
      const renewals = new Map(answered.map((renewal) => [renewal.id, renewal]))
      for (const [id] of dropped) if (renewals.get(id)?.problem !== 'stray') slots.forget(id)
      this.#lookAt([...renewals.values()].filter(({ id, problem }) => problem === 'stray' && !isKnown(id)))
      for (const each of held) {
        const { problem, lease_until_ms: untilMs } = renewals.get(each.claim.id) ?? {}
        if (untilMs) each.lease.renewed(sentAt, new Date(untilMs))
        else if (problem === 'skipped') again = renewalRetryMs(leaseMs)
        else if (problem && problem !== 'stray') this.#lose(each, problem)
      }
      if (slots.dropped.size > 0 || this.#astray.size > 0) again = renewalRetryMs(leaseMs)
    } catch (error) {
      log.warn({ error, claims: held.length }, 'Leases could not be renewed; asked again soon.')
      again = renewalRetryMs(leaseMs)
    }
    this.#isRenewing = false
    this.#arm(this.#nextMs(again))
  }

  #nextMs(ms: number): number {
    return this.#isHasty ? Math.min(ms, renewalRetryMs(this.#options.leaseMs)) : ms
  }

  #lookAt(strays: readonly LeaseRenewal[]): void {
    const { slots, onStray } = this.#options
    const again = strays.filter(({ id, token }) => this.#astray.get(id) === token)
    this.#astray = new Map(strays.filter((each) => !again.includes(each)).map(({ id, token }) => [id, token]))
    for (const { id, token } of again) {
      const dropped = slots.dropped.get(id)
      onStray({ id, token, isLate: dropped?.token === token && dropped.isLate })
    }
  }

  #lose(held: Held, reason: 'not_found' | 'superseded'): void {
    // A claim that has settled meanwhile is no loss.
    if (this.#options.slots.get(held.claim.id) === held) held.execution.interrupt({ kind: 'lost', reason })
  }

  #watch(): void {
    const { slots, clock, log, leaseMs } = this.#options
    const now = clock.monotonic()
    const lateMs = now - this.#watchedAt - this.#watchMs
    this.#watchedAt = now
    const isLate = lateMs > leaseMs / 2
    if (isLate) {
      log.warn({ lateMs: Math.round(lateMs) }, 'The event loop was blocked: leases cannot be renewed meanwhile.')
    }
    for (const held of slots.all()) {
      if (held.lease.isSafe(now)) continue
      log.warn(
        { runId: held.claim.id, token: held.claim.token },
        'The lease could not be renewed in time; the claim stops.',
      )
      held.isLate = isLate
      held.execution.interrupt({ kind: 'lost', reason: 'not_found' })
    }
    if (!this.#isStopped) this.#watchTimer = clock.after(this.#watchMs, () => this.#watch())
  }
}
