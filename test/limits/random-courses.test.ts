import { expect, test } from 'vitest'
import { Random } from '../chaos/random.ts'
import { connect, type Connection } from '../support/connections.ts'
import { useDatabase } from '../support/database.ts'
import {
  brokenInvariants,
  define,
  endTickets,
  lockTickets,
  type GivenLimits,
  type LockedTicket,
} from '../support/limits.ts'
import { claimFor, newWorker, pgArray, settle, startItem } from '../support/runs.ts'

/**
 * Any order of all that can happen to the lines of a workflow, one step after the other: after each, what is counted is
 * what there is, and no more runs are live than the limit that was in force when the last of them began. At the end
 * everything runs by the tickets that are there.
 */

const database = useDatabase()
const worker = newWorker()
const groups = ['a', 'b', 'c', undefined]

const limitsToTry: readonly GivenLimits[] = [
  { concurrency: 2 },
  { concurrencyPerGroup: 1 },
  { concurrency: 3, concurrencyPerGroup: 2 },
  { concurrency: 2, isFair: true },
  { isFair: true, concurrencyPerGroup: 1 },
  { rate: { limit: 3, perMs: 30 } },
  { concurrency: 2, rate: { limit: 2, perMs: 20 }, ratePerGroup: { limit: 1, perMs: 10 } },
  { concurrencyPerGroup: 2, ratePerGroup: { limit: 2, perMs: 20 } },
]

interface Live {
  readonly id: string
  readonly token: number
}

class Course {
  readonly #session: Connection
  readonly #random: Random
  readonly #workflow: string
  readonly #inHand: LockedTicket[] = []
  live: Live[] = []

  constructor(session: Connection, random: Random, workflow: string) {
    this.#session = session
    this.#random = random
    this.#workflow = workflow
  }

  async step(): Promise<string> {
    const [name, step] = this.#random.pick(Object.entries(this.#steps))
    await step()
    return name
  }

  /** Everything that can run, to its end. */
  async drain(): Promise<void> {
    await this.#session.call('resume_workflow', this.#workflow)
    for (let idle = 0; idle < 40;) {
      await this.#session.call('fail_overdue', 500)
      await this.#session.call('promote_due', 500)
      this.#inHand.push(...(await lockTickets(database, this.#workflow)))
      const before = this.live.length
      if (this.#inHand.length > 0) this.live.push(...(await this.#claim(this.#inHand.splice(0))))
      idle = before + this.live.length > 0 ? 0 : idle + 1
      for (const { id, token } of this.live.splice(0)) await this.#settle({ id, token, outcome: 'done' })
    }
  }

  readonly #steps: Readonly<Record<string, () => Promise<void>>> = {
    start: async () => {
      const items = Array.from({ length: this.#random.whole(4) + 1 }, () => {
        const group = this.#random.pick(groups)
        const priority = this.#random.pick([0, 0, 5])
        return startItem({ workflow: this.#workflow, priority, ...(group !== undefined && { group_key: group }) })
      })
      await this.#session.call('start_runs', items)
    },
    fetch: async () => {
      this.#inHand.push(...(await lockTickets(database, this.#workflow, this.#random.whole(4) + 1)))
    },
    look: async () => {
      const taken = this.#inHand.splice(0, this.#random.whole(3) + 1)
      if (taken.length > 0) this.live.push(...(await this.#claim(taken)))
    },
    end: async () => {
      const item = this.#takeLive()
      if (!item) return
      const outcome = this.#random.pick(['done', 'done', 'failed', 'retry', 'snooze', 'suspended', 'released'])
      const details = { delay_ms: this.#random.pick([0, 5]), ...(outcome === 'failed' && { failure: 'rejected' }) }
      const lease = this.#random.pick([{}, { lease_ms: 30_000 }])
      await this.#settle({ ...item, outcome, details, ...lease })
    },
    cancel: async () => {
      const id = await this.#anyRun()
      await this.#session.call(this.#random.pick(['cancel_runs', 'ask_cancels']), pgArray([id]), null)
      this.#forget(id)
    },
    expire: async () => {
      const item = this.#takeLive()
      if (!item) return
      await this.#session.query(`update holdfast.runs set lease_until = '-infinity' where id = $1`, [item.id])
      await this.#session.call('end_leases', 100, 'now')
    },
    overdue: async () => {
      const id = await this.#anyRun()
      await this.#session.query(
        `update holdfast.runs set deadline_at = now() where id = $1 and state in ('waiting', 'scheduled')`,
        [id],
      )
      if (this.#random.pick([true, false])) await this.#session.call('fail_overdue', 100)
    },
    promote: async () => void (await this.#session.call('promote_due', 100)),
    mend: async () => void (await this.#session.call('mend_lines', 100)),
    limit: async () => {
      const given = this.#random.pick(limitsToTry)
      const none = { concurrency: null, concurrencyPerGroup: null, rate: null, ratePerGroup: null, isFair: false }
      await this.#session.call('set_limits', this.#workflow, { ...none, ...this.#random.pick([{}, given]) }, null)
    },
    pause: async () => {
      if (this.#random.pick([true, false])) await this.#session.call('pause_workflow', this.#workflow, null, null)
      else await this.#session.call('resume_workflow', this.#workflow)
    },
    reserve: async () => {
      const claimed = await this.#session.call('reserve_runs', worker, [this.#workflow], 2, 30_000)
      this.live.push(...(claimed as unknown as Live[]))
    },
  }

  async #claim(tickets: readonly LockedTicket[]): Promise<Live[]> {
    const rows = await claimFor(this.#session, worker, tickets, this.#workflow)
    await endTickets(database, tickets)
    const others = rows.filter(({ token }) => (token as number | null) === null).map(({ id }) => id)
    const claimed = rows.filter(({ token }) => (token as number | null) !== null)
    if (others.length === 0) return claimed
    const leases = others.map(() => 30_000)
    const more = await this.#session.call('claim_runs', worker, pgArray(others), `{${leases.join(',')}}`, false)
    return [...claimed, ...(more as unknown as Live[])]
  }

  async #settle(item: Live & { outcome: string; details?: object; lease_ms?: number }): Promise<void> {
    const rows = await settle(this.#session, worker, [item])
    this.live.push(...(rows as (Live & { n: number | null })[]).filter(({ n }) => n === null))
  }

  #takeLive(): Live | undefined {
    return this.live.splice(this.#random.whole(this.live.length), 1)[0]
  }

  async #anyRun(): Promise<string> {
    const rows = await this.#session.query<{ id: string }>(
      `select id from holdfast.runs where workflow = $1 and ended_at is null order by id`,
      [this.#workflow],
    )
    return rows.length === 0 ? newWorker() : this.#random.pick(rows).id
  }

  #forget(id: string): void {
    this.live = this.live.filter((each) => each.id !== id)
  }
}

test.each(Array.from({ length: 25 }, (_, n) => n))(
  'LIMIT-03: any course leaves nothing forgotten (%i)',
  async (seed) => {
    const session = await connect(database)
    const workflow = `course ${seed}`
    await define(session, workflow, limitsToTry[seed % limitsToTry.length] ?? {})
    const course = new Course(session, new Random(seed), workflow)
    const done: string[] = []
    for (let step = 0; step < 80; step += 1) {
      done.push(await course.step())
      const broken = await brokenInvariants(database)
      if (Object.keys(broken).length > 0) expect({ after: done.join(' '), broken }).toEqual({})
    }
    await course.drain()
    const left = await session.query(
      `select id, state, is_set_aside, group_key from holdfast.runs where workflow = $1 and ended_at is null`,
      [workflow],
    )
    expect({ after: done.join(' '), left }).toEqual({ after: done.join(' '), left: [] })
  },
)
