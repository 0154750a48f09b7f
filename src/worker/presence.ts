import type { LeaseItem, LeaseRenewal } from '../db/calls.ts'
import type { Database } from '../db/database.ts'
import { Session } from '../db/session.ts'
import type { Clock } from '../model/clock.ts'
import type { Logger } from '../model/logger.ts'
import type { Part } from './part.ts'

/**
 * A worker's being there: its row, and a shared advisory lock in each of two sessions that handlers cannot use. A
 * killed process loses both within milliseconds, which is how others find it dead long before its leases end.
 */

export interface PresenceOptions {
  readonly database: Database
  readonly workerId: string
  readonly name: string
  readonly workflows: readonly string[]
  readonly slots: number
  readonly leaseMs: number
  readonly pulseMs: number
  readonly clock: Clock
  readonly log: Logger
  readonly onMessage: (message: string) => void
  /** The server has fallen silent, on all sessions that were open. */
  readonly onSilence: () => void
}

export class Presence implements Part {
  readonly #options: PresenceOptions
  readonly #poolIds: string[] = []
  readonly #heart: Session
  readonly #ear: Session
  #isOnRecord = false

  constructor(options: PresenceOptions) {
    const { database, pulseMs, clock, log, onMessage, onSilence } = options
    this.#options = options
    const onLoss = (error: unknown): void => log.warn({ error }, 'A session was lost; connecting again.')
    const session = { database, pulseMs, clock, onLoss, onSilence }
    this.#heart = new Session({
      ...session,
      name: 'holdfast leases',
      setUp: async (client) => {
        await database.callOn(client, 'hold_presence', [options.workerId])
        await database.callOn(client, 'register_worker', [this.#row()])
        this.#isOnRecord = true
      },
    })
    this.#ear = new Session({
      ...session,
      name: 'holdfast listen',
      setUp: async (client) => {
        await database.callOn(client, 'hold_presence', [options.workerId])
        await client.query(`listen ${client.escapeIdentifier(database.names.channel)}`)
        // What was said while nobody listened is asked for.
        onMessage('due')
      },
      onNotification: onMessage,
    })
  }

  async start(): Promise<void> {
    await this.#heart.start()
    await this.#ear.start()
  }

  /** Puts the id under which this worker will lock tickets on record. */
  async addPool(poolId: string): Promise<void> {
    this.#poolIds.push(poolId)
    await this.#options.database.call('register_worker', [this.#row()])
  }

  async renew(items: readonly LeaseItem[]): Promise<readonly LeaseRenewal[]> {
    return await this.#heart.call('renew_leases', [this.#options.workerId, JSON.stringify(items)])
  }

  /** Says good-bye first, so that nobody has to find out. */
  async stop(): Promise<void> {
    const { database, workerId, log } = this.#options
    if (this.#isOnRecord) {
      await database
        .call('end_worker', [workerId])
        .catch((error: unknown) => log.warn({ error }, 'The worker could not say good-bye; others will notice.'))
    }
    await Promise.all([this.#heart.stop(), this.#ear.stop()])
  }

  #row(): string {
    const { workerId, name, workflows, slots, leaseMs } = this.#options
    return JSON.stringify({
      id: workerId,
      name,
      workflows,
      slots,
      lease_ms: leaseMs,
      pool_ids: this.#poolIds,
      has_locks: true,
    })
  }
}
