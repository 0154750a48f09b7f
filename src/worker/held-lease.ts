import type { Extension } from '../db/claim-calls.ts'
import type { Claim, Lease } from '../model/claim.ts'
import type { Clock } from '../model/clock.ts'

export interface HeldLeaseOptions {
  readonly claim: Claim
  /** How long each renewal asks for. */
  readonly leaseMs: number
  /** Share of that after which the claim stops unless it was renewed. */
  readonly giveUpAfter: number
  /** When the claim was asked for, by the monotonic clock. */
  readonly sentAt: number
  readonly clock: Clock
  /** Asks the database for a longer one. */
  readonly extend: (ms: number) => Promise<Extension>
}

/**
 * What a worker knows of one lease: its end by the database's clock, for whoever asks; and until when it is safe here,
 * counted from when the last accepted request was sent, so that a slow answer never lengthens it.
 */
export class HeldLease implements Lease {
  readonly #options: HeldLeaseOptions
  readonly #marginMs: number
  #expiresAt: Date
  #safeUntil: number

  constructor(options: HeldLeaseOptions) {
    const { claim, leaseMs, giveUpAfter, sentAt } = options
    this.#options = options
    this.#marginMs = leaseMs * (1 - giveUpAfter)
    this.#expiresAt = claim.leaseUntil
    this.#safeUntil = sentAt + leaseMs - this.#marginMs
  }

  get leaseMs(): number {
    return this.#options.leaseMs
  }

  get expiresAt(): Date {
    return new Date(this.#expiresAt)
  }

  isSafe(now: number): boolean {
    return now < this.#safeUntil
  }

  /** A renewal that was sent then was accepted. */
  renewed(sentAt: number, until: Date): void {
    this.#accept(sentAt, until, this.#options.leaseMs)
  }

  async extend(ms: number): Promise<Date> {
    const { clock, extend } = this.#options
    const sentAt = clock.monotonic()
    const { until, leftMs } = await extend(ms)
    this.#accept(sentAt, until, leftMs)
    return this.expiresAt
  }

  #accept(sentAt: number, until: Date, leaseMs: number): void {
    this.#safeUntil = Math.max(this.#safeUntil, sentAt + leaseMs - this.#marginMs)
    if (until > this.#expiresAt) this.#expiresAt = until
  }
}
