import { extendLease } from '../db/claim-calls.ts'
import { ack, nack, reserve, type Claimed, type ReservedRow } from '../db/hand-calls.ts'
import type { Database } from '../db/database.ts'
import { describeValue } from '../define/describe-value.ts'
import { parseNackOptions, parseReserveOptions, type NackOptions, type ReserveOptions } from '../define/hand-options.ts'
import type { Clock } from '../model/clock.ts'
import { decode, encode } from '../model/codec.ts'
import { parseDuration } from '../model/duration.ts'
import { ArgumentError } from '../model/errors.ts'
import { isUuid, uuidv7 } from '../model/id.ts'
import type { Duration } from '../model/policy.ts'
import { resend } from './resend.ts'

/** A run that was claimed by hand. Its input is as it was stored: no schema has checked it. */
export interface Reserved {
  readonly id: string
  /** Numbers the claim; what is said of another one is refused. */
  readonly token: number
  readonly workflow: string
  readonly key: string | undefined
  readonly group: string | undefined
  readonly attempt: number
  readonly maxAttempts: number
  readonly metadata: Readonly<Record<string, string>>
  readonly input: unknown
  /** When the lease is over, by the database's clock. */
  readonly leaseExpiresAt: Date
}

/** Between two looks for runs: the first, and the longest. */
const firstPauseMs = 10
const longestPauseMs = 250

/** Claims runs without a worker. Its claims bear an id of their own, which no worker has. */
export class ByHand {
  readonly #database: Database
  readonly #clock: Clock
  readonly #id: string
  readonly #ready: () => Promise<void>
  readonly #closing: AbortSignal

  constructor(database: Database, clock: Clock, ready: () => Promise<void>, closing: AbortSignal) {
    this.#database = database
    this.#clock = clock
    this.#id = uuidv7(clock)
    this.#ready = ready
    this.#closing = closing
  }

  async reserve(options: ReserveOptions): Promise<Reserved[]> {
    const { workflows, max, lease: leaseMs, wait: waitMs } = parseReserveOptions(options)
    await this.#ready()
    const until = this.#clock.monotonic() + waitMs
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
      // A reply that is lost costs its runs a lease: they were claimed, and nobody knows of it.
      const rows = await reserve(this.#database, { worker: this.#id, workflows, max, leaseMs })
      const leftMs = until - this.#clock.monotonic()
      if (rows.length > 0 || leftMs <= 0 || this.#closing.aborted) return rows.map(toReserved)
      await this.#clock.sleep(Math.min(pauseMs, leftMs), this.#closing)
    }
  }

  async ack(reserved: Reserved, output: unknown): Promise<void> {
    const claim = readReserved(reserved)
    const encoded = encode(output, 'output')
    await this.#send(() => ack(this.#database, claim, encoded))
  }

  async nack(reserved: Reserved, options: NackOptions | undefined): Promise<void> {
    const claim = readReserved(reserved)
    const { after, permanent, reason } = parseNackOptions(options)
    await this.#send(() => nack(this.#database, claim, after, permanent, reason))
  }

  async extend(reserved: Reserved, lease: Duration): Promise<Date> {
    const claim = readReserved(reserved)
    const leaseMs = parseDuration(lease, 'lease')
    return (await this.#send(() => extendLease(this.#database, claim, leaseMs))).until
  }

  async #send<T>(call: () => Promise<T>): Promise<T> {
    await this.#ready()
    return await resend(this.#clock, call)
  }
}

/** Of what a user passes back. Throws ArgumentError for what `reserve` has not answered. */
function readReserved(reserved: unknown): Claimed {
  const { id, token } = (typeof reserved === 'object' && reserved !== null ? reserved : {}) as Partial<Reserved>
  if (isUuid(id) && Number.isSafeInteger(token)) return { id, token: Number(token) }
  throw new ArgumentError(`reserved got ${describeValue(reserved)}.`, {
    field: 'reserved',
    remedy: 'Give what reserve answered.',
  })
}

function toReserved(row: ReservedRow): Reserved {
  return {
    id: row.id,
    token: row.token,
    workflow: row.workflow,
    key: row.key ?? undefined,
    group: row.group_key ?? undefined,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    input: decode(row.input ?? 'null', row.input_types),
    leaseExpiresAt: new Date(row.lease_until_ms),
  }
}
