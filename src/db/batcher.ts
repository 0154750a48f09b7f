import type { Clock } from '../model/clock.ts'
import { isItemFault, isLockTimeout } from './database-errors.ts'

/**
 * Lets concurrent calls share one statement and one commit. There is no timer: a lone item waits for nobody, and what
 * arrives while flushes are in flight goes together in the next one.
 *
 * Invariants: at most `inFlight` flushes at once; at most `maxItems` items and `maxBytes` bytes a flush; an item that
 * is to blame for an error fails alone, since a failing batch is halved until the culprit stands by itself; one that
 * cannot have its lock is sent again by itself, beside the flushes in flight, and holds up no other.
 */

export interface BatcherOptions<Item, Result> {
  /** Writes the items in one call; answers one result an item, in their order. An error there is that item's alone. */
  readonly flush: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>
  readonly sizeOf?: (item: Item) => number
  readonly compare?: (a: Item, b: Item) => number
  readonly inFlight?: number
  /** Told how many items a call is made with. */
  readonly onFlush?: ((size: number) => void) | undefined
  readonly clock: Clock
  /** Once it aborts, an item that cannot have its lock fails. Default: it waits as long as it takes. */
  readonly until?: AbortSignal
}

interface Entry<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

const maxItems = 500
const maxBytes = 4 * 1024 * 1024
/** A lock is waited for on a session, by its time-out; between two such waits the session is others'. */
const lockPauseMs = 250

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #inFlight: number
  readonly #waiting: Entry<Item, Result>[] = []
  #flying = 0
  #isArmed = false

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
    this.#inFlight = options.inFlight ?? 2
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#arm()
    })
  }

  #arm(): void {
    if (this.#isArmed || this.#waiting.length === 0 || this.#flying >= this.#inFlight) return
    this.#isArmed = true
    // What the same turn of the event loop brings goes along.
    this.#options.clock.whenIdle(() => {
      this.#isArmed = false
      if (this.#waiting.length === 0 || this.#flying >= this.#inFlight) return
      this.#flying += 1
      void this.#flush(this.#take()).finally(() => {
        this.#flying -= 1
        this.#arm()
      })
      this.#arm()
    })
  }

  #take(): Entry<Item, Result>[] {
    const { sizeOf, compare } = this.#options
    if (compare) this.#waiting.sort((a, b) => compare(a.item, b.item))
    let bytes = 0
    let count = 0
    for (const { item } of this.#waiting) {
      bytes += sizeOf?.(item) ?? 0
      if (count > 0 && (count >= maxItems || bytes > maxBytes)) break
      count += 1
    }
    return this.#waiting.splice(0, count)
  }

  async #flush(batch: readonly Entry<Item, Result>[]): Promise<void> {
    this.#options.onFlush?.(batch.length)
    try {
      const results = await this.#options.flush(batch.map((entry) => entry.item))
      batch.forEach((entry, index) => {
        const result = results[index]
        if (result instanceof Error) entry.reject(result)
        else entry.resolve(result as Result)
      })
    } catch (error) {
      if (batch.length > 1 && (isItemFault(error) || isLockTimeout(error))) {
        const middle = Math.ceil(batch.length / 2)
        await this.#flush(batch.slice(0, middle))
        await this.#flush(batch.slice(middle))
      } else if (isLockTimeout(error) && !this.#options.until?.aborted) {
        void this.#flushLater(batch)
      } else {
        for (const entry of batch) entry.reject(error)
      }
    }
  }

  async #flushLater(batch: readonly Entry<Item, Result>[]): Promise<void> {
    const { clock, until } = this.#options
    await clock.sleep(lockPauseMs, until)
    await this.#flush(batch)
  }
}
