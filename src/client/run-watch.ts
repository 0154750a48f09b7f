import { lookAtRuns, type Look } from '../db/run-calls.ts'
import type { Database } from '../db/database.ts'
import { Session } from '../db/session.ts'
import type { Clock, Timer } from '../model/clock.ts'
import { ClosedError, DatabaseUnreachableError } from '../model/errors.ts'
import { uuidv7 } from '../model/id.ts'
import { quoteIdentifier } from '../db/schema-names.ts'

/**
 * Waits for runs to change. A run that was asked about just now is asked about again soon, then ever more rarely; one
 * that is waited for longer is told of by NOTIFY, and asking is only the net. However many are waited for, one question
 * at a time is asked about all that it is time for.
 */

/** Between two questions about a run: a share of how long it has been waited for, within these. */
const shortestMs = 1
const share = 0.2
/** What is waited for longer than this is told of. */
const toldAfterMs = 100
const longestToldMs = 2_000
const longestUntoldMs = 250
/** How long a session that nobody needs is kept, and how long one that could not be had is left alone. */
const idleMs = 30_000
const againMs = 10_000
const pulseMs = 2_000

interface Waiter {
  readonly isMet: (look: Look) => boolean
  readonly resolve: (look: Look) => void
  readonly reject: (error: unknown) => void
}

interface Watched {
  readonly id: string
  readonly waiters: Set<Waiter>
  /** When it was first waited for, and when it is to be asked about, by the monotonic clock. */
  begunAt: number
  dueAt: number
}

const closed = (): ClosedError => new ClosedError('The client was closed.', { remedy: 'Create a new one.' })

export class RunWatch {
  readonly #database: Database
  readonly #clock: Clock
  readonly #id: string
  readonly #watched = new Map<string, Watched>()
  readonly #session: Ear
  #wake: (() => void) | undefined
  #isAsking = false
  #isClosed = false

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#id = uuidv7(clock)
    this.#session = new Ear(database, clock, this.#id, (ids) => this.#hear(ids))
  }

  /** Resolves once the run is another than at `since`. Rejects when the signal aborts. */
  async change(id: string, since: string, abortSignal?: AbortSignal): Promise<Look> {
    return await this.#wait(id, ({ revision }) => revision !== since, abortSignal)
  }

  /** Resolves once the run has ended, or is not there. Rejects when the signal aborts. */
  async end(id: string, abortSignal?: AbortSignal): Promise<Look> {
    return await this.#wait(id, ({ isOver }) => isOver, abortSignal)
  }

  async #wait(id: string, isMet: Waiter['isMet'], abortSignal?: AbortSignal): Promise<Look> {
    abortSignal?.throwIfAborted()
    if (this.#isClosed) throw closed()
    const now = this.#clock.monotonic()
    const watched = this.#watched.get(id) ?? { id, waiters: new Set(), begunAt: now, dueAt: now }
    watched.begunAt = now
    watched.dueAt = Math.min(watched.dueAt, now)
    this.#watched.set(id, watched)
    return await new Promise((resolve, reject) => {
      const leave = (): void => {
        abortSignal?.removeEventListener('abort', abort)
        watched.waiters.delete(waiter)
        if (watched.waiters.size === 0) this.#watched.delete(id)
      }
      const waiter: Waiter = {
        isMet,
        resolve: (look) => {
          leave()
          resolve(look)
        },
        reject: (error) => {
          leave()
          reject(error)
        },
      }
      const abort = (): void => waiter.reject(abortSignal?.reason)
      abortSignal?.addEventListener('abort', abort)
      watched.waiters.add(waiter)
      this.#wake?.()
      if (!this.#isAsking) void this.#ask()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const waiter of this.#waiters()) waiter.reject(closed())
    this.#wake?.()
    await this.#session.close()
  }

  /** These have changed, or (undefined) what was said of them may have been missed. */
  #hear(ids: readonly string[] | undefined): void {
    for (const id of ids ?? this.#watched.keys()) {
      const watched = this.#watched.get(id)
      if (watched) watched.dueAt = 0
    }
    this.#wake?.()
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    while (this.#watched.size > 0) {
      const asked = this.#clock.monotonic()
      const due = [...this.#watched.values()].filter(({ dueAt }) => dueAt <= asked)
      const long = due.filter(({ begunAt }) => asked - begunAt > toldAfterMs)
      if (long.length > 0) this.#session.open()
      const isTold = this.#session.isOpen
      // What is heard from now on may have happened after the look.
      for (const each of due) each.dueAt = Infinity
      try {
        if (isTold) await this.#look(long, this.#id)
        await this.#look(isTold ? due.filter((each) => !long.includes(each)) : due, null)
      } catch (error) {
        // While the database cannot be reached nothing changes; the answer comes when it is back.
        if (!(error instanceof DatabaseUnreachableError)) for (const waiter of this.#waiters()) waiter.reject(error)
      }
      const now = this.#clock.monotonic()
      for (const each of due) {
        each.dueAt = Math.min(each.dueAt, now + this.#pauseMs(now - each.begunAt, now - asked, isTold))
      }
      await this.#pause()
    }
    this.#isAsking = false
    this.#session.rest()
  }

  /** Asking itself takes at most half of the time. */
  #pauseMs(ageMs: number, tookMs: number, isTold: boolean): number {
    const longest = isTold && ageMs > toldAfterMs ? longestToldMs : longestUntoldMs
    return Math.min(longest, Math.max(shortestMs, ageMs * share, tookMs))
  }

  async #look(watched: readonly Watched[], watcher: string | null): Promise<void> {
    if (watched.length === 0) return
    for (const look of await lookAtRuns(
      this.#database,
      watcher,
      watched.map(({ id }) => id),
    )) {
      for (const waiter of this.#watched.get(look.id)?.waiters ?? []) {
        if (waiter.isMet(look)) waiter.resolve(look)
      }
    }
  }

  async #pause(): Promise<void> {
    const soonest = Math.min(...[...this.#watched.values()].map(({ dueAt }) => dueAt))
    if (!Number.isFinite(soonest)) return
    const heard = new AbortController()
    this.#wake = () => heard.abort()
    const now = this.#clock.monotonic()
    const isDue = [...this.#watched.values()].some(({ dueAt }) => dueAt <= now)
    if (!isDue) await this.#clock.sleep(soonest - now, heard.signal)
    this.#wake = undefined
  }

  #waiters(): Waiter[] {
    return [...this.#watched.values()].flatMap(({ waiters }) => [...waiters])
  }
}

/** The session on which a client hears of the runs it waits for, for as long as it waits for some. */
class Ear {
  readonly #database: Database
  readonly #clock: Clock
  readonly #channel: string
  readonly #hear: (ids: readonly string[] | undefined) => void
  #session: Session | undefined
  #isListening = false
  #idle: Timer | undefined
  #triedAt = -Infinity

  constructor(database: Database, clock: Clock, watcher: string, hear: (ids: readonly string[] | undefined) => void) {
    this.#database = database
    this.#clock = clock
    this.#channel = `${database.names.channel}:${watcher}`
    this.#hear = hear
  }

  get isOpen(): boolean {
    return this.#isListening
  }

  open(): void {
    this.#idle?.cancel()
    if (this.#session || this.#clock.monotonic() - this.#triedAt < againMs) return
    this.#triedAt = this.#clock.monotonic()
    const session = new Session({
      database: this.#database,
      name: 'holdfast watch',
      clock: this.#clock,
      pulseMs,
      setUp: async (client) => {
        await client.query(`listen ${quoteIdentifier(this.#channel)}`)
        this.#isListening = true
        this.#hear(undefined)
      },
      onNotification: (message) => this.#hear(message.split(' ')),
      onLoss: () => void (this.#isListening = false),
    })
    this.#session = session
    // Without a session, as behind a transaction pooler, asking goes on.
    session.start().catch(() => this.#drop(session))
  }

  /** Nobody waits just now. */
  rest(): void {
    this.#idle ??= this.#clock.after(idleMs, () => void this.close(), true)
  }

  async close(): Promise<void> {
    this.#idle?.cancel()
    this.#idle = undefined
    if (this.#session) await this.#drop(this.#session)
  }

  async #drop(session: Session): Promise<void> {
    this.#session = undefined
    this.#isListening = false
    await session.stop()
  }
}
