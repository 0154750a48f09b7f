import type { Clock } from '../model/clock.ts'
import type { Scope } from './scope.ts'

/**
 * Hands outcomes to the handler. Owns their order, which is what makes a replay take the same way as the first run:
 *
 * 1. Outcomes are handed out in `seq` order. Recorded ones first, then new ones in the order they were made, even if a
 *    later one became durable earlier.
 * 2. Each is handed out once the microtask queue has drained, so whatever came before it has called `run` by then: a
 *    body that throws at once is no faster than a memo.
 * 3. A new body starts only when no recorded outcome that was asked for is left.
 */
export class Deliveries {
  readonly #clock: Clock
  readonly #scope: Scope
  readonly #recorded: Recorded[] = []
  readonly #made: Place[] = []
  readonly #bodies: (() => void)[] = []
  #seq: number
  #isScheduled = false

  constructor(clock: Clock, scope: Scope, lastSeq: number) {
    this.#clock = clock
    this.#scope = scope
    this.#seq = lastSeq
  }

  /** A recorded outcome has been asked for. */
  recall(seq: number, hand: () => void): void {
    const index = this.#recorded.findIndex((delivery) => delivery.seq > seq)
    this.#recorded.splice(index < 0 ? this.#recorded.length : index, 0, { seq, hand })
    this.#schedule()
  }

  /** An outcome has been made just now: it gets its place in the order, and is handed out once `hand` is given. */
  make(): Place {
    this.#seq += 1
    const place = new Place(this.#seq, this)
    this.#made.push(place)
    return place
  }

  /** For a place: whether it can be handed out now is to be looked at. */
  changed(gone?: Place): void {
    const index = gone ? this.#made.indexOf(gone) : -1
    if (index >= 0) this.#made.splice(index, 1)
    this.#schedule()
  }

  /** Starts a new body when its turn has come: now, or later, bound to where it was asked for. */
  start(body: () => void, bind: () => () => void): void {
    if (this.#recorded.length === 0 && this.#bodies.length === 0) body()
    else this.#bodies.push(bind())
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#clock.whenIdle(() => {
      this.#isScheduled = false
      if (this.#scope.isOpen && this.#handOne()) this.#schedule()
    })
  }

  #handOne(): boolean {
    const recorded = this.#recorded.shift()
    if (recorded) {
      recorded.hand()
      return true
    }
    if (this.#bodies.length > 0) {
      for (const body of this.#bodies.splice(0)) body()
      return true
    }
    const give = this.#made[0]?.given
    if (!give) return false
    this.#made.shift()
    give()
    return true
  }
}

/** The place of an outcome in the order. Those behind it wait for it. */
export class Place {
  readonly seq: number
  readonly #deliveries: Deliveries
  #given: (() => void) | undefined

  constructor(seq: number, deliveries: Deliveries) {
    this.seq = seq
    this.#deliveries = deliveries
  }

  get given(): (() => void) | undefined {
    return this.#given
  }

  /** The outcome may be handed out, by calling `hand` when its turn comes. */
  hand(hand: () => void): void {
    this.#given = hand
    this.#deliveries.changed()
  }

  /** The outcome came to nothing: nobody waits for it any more. */
  withdraw(): void {
    this.#deliveries.changed(this)
  }
}

interface Recorded {
  readonly seq: number
  readonly hand: () => void
}
