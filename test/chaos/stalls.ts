import { asSeen, Census, isBegin, type Happening } from './census.ts'
import type { InForce, LimitsEvidence, Rate } from './limits-evidence.ts'

/** A stretch in which runs of a line waited that its limits would have let begin, and none of the line began. */
export interface Stall {
  readonly line: string
  readonly from: number
  readonly ms: number
}

/** All there were, however short. */
export function stalls({ moves, changes, slots }: LimitsEvidence): Stall[] {
  const watches = new Map<string, LineWatch>()
  const found: Stall[] = []
  let live = 0
  let last = 0
  for (const happening of asSeen(moves, changes)) {
    const { workflow, committedAt } = happening.move ?? happening.change
    const watch = watches.get(workflow) ?? new LineWatch(workflow, found)
    watches.set(workflow, watch)
    if (happening.move) live += Number(isBegin(happening.move)) - Number(happening.move.oldState === 'running')
    watch.take(happening, committedAt)
    // Without a slot nothing can begin.
    if (live >= slots) for (const each of watches.values()) each.forget()
    last = committedAt
  }
  for (const watch of watches.values()) watch.close(last)
  return found
}

/** The lines of one workflow. */
class LineWatch {
  readonly #workflow: string
  readonly #found: Stall[]
  readonly #census = new Census()
  /** Group -> since when one of its runs could begin. */
  readonly #open = new Map<string, number>()
  /** Scope -> when those began that a rate counts; '': of the workflow. */
  readonly #starts = new Map<string, number[]>()

  constructor(workflow: string, found: Stall[]) {
    this.#workflow = workflow
    this.#found = found
  }

  take({ move, change }: Happening, at: number): void {
    const census = this.#census
    if (change) {
      this.close(at)
      census.inForce = change.inForce
    } else if (isBegin(move)) {
      // Where one line serves all groups, it has served.
      this.close(at, census.inForce?.isWide ? undefined : move.group)
      census.move(move)
      for (const scope of move.isFree ? [] : ['', `group ${move.group}`]) {
        this.#startsOf(scope).push(move.claimedAt ?? at)
      }
    } else census.move(move)
    this.#look(at, change || census.inForce?.isWide ? undefined : move.group)
  }

  /** The stretches of this group, or of all, are over. */
  close(at: number, group?: string): void {
    for (const [name, since] of group === undefined ? this.#open : [[group, this.#open.get(group)] as const]) {
      if (since === undefined) continue
      const from = Math.max(since, this.#opensAt(name))
      if (from < at) this.#found.push({ line: `${this.#workflow} ${name}`.trim(), from, ms: at - from })
      this.#open.delete(name)
    }
  }

  forget(): void {
    this.#open.clear()
  }

  #look(at: number, group: string | undefined): void {
    for (const name of group === undefined ? this.#census.groups.keys() : [group]) {
      if (!this.#hasRoom(name)) this.close(at, name)
      else if (!this.#open.has(name)) this.#open.set(name, at)
    }
  }

  #hasRoom(name: string): boolean {
    const { inForce, all } = this.#census
    const { live, waiting } = this.#census.group(name)
    const isFull = live >= this.#census.capOf(name) || all.live >= (inForce?.concurrency ?? Infinity)
    return waiting > 0 && !isFull && !inForce?.isPaused
  }

  /** When the rates let the next one begin. */
  #opensAt(group: string): number {
    const { rate, groupRate } = this.#census.inForce ?? ({} as Partial<InForce>)
    return Math.max(this.#opensIn('', rate), group === '' ? -Infinity : this.#opensIn(`group ${group}`, groupRate))
  }

  #opensIn(scope: string, rate: Rate | null | undefined): number {
    if (!rate) return -Infinity
    const starts = this.#startsOf(scope)
    return (starts[starts.length - rate.limit] ?? -Infinity) + rate.perMs
  }

  #startsOf(scope: string): number[] {
    const known = this.#starts.get(scope)
    if (known) return known
    const starts: number[] = []
    this.#starts.set(scope, starts)
    return starts
  }
}
