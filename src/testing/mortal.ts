import type { Clock, Timer } from '../model/clock.ts'
import type { Journal, NewMemo, StoredOutcome } from '../model/journal.ts'
import type { Run, Step } from '../model/run.ts'
import type { CrashFuse } from './crash-fuse.ts'
import type { ReplayWatch } from './replay-watch.ts'
import { replaced } from './with-run.ts'

/**
 * What stands for the process of one claim, which may die. From its death on nothing of it reaches the journal and no call
 * is answered, so the handler stops where it stands. It may die before and after each write, whenever a call on `run` has
 * been answered, and before and after each body.
 *
 * Journal and run are wrapped whatever functions they have: what is added to them is watched as well.
 */
export class Mortal {
  readonly died: Promise<undefined>
  readonly clock: Clock
  /** What this claim has kept. */
  readonly memos: Map<string, NewMemo> = new Map()
  /** Keys of the bodies that began. */
  readonly began: string[] = []
  readonly #fuse: CrashFuse
  readonly #watch: ReplayWatch
  readonly #writes = new Set<Promise<unknown>>()
  readonly #timers: Timer[] = []
  #isDead = false
  #onDeath: () => void = () => undefined

  constructor(fuse: CrashFuse, watch: ReplayWatch, clock: Clock) {
    this.#fuse = fuse
    this.#watch = watch
    this.died = new Promise((resolve) => void (this.#onDeath = () => resolve(undefined)))
    this.clock = {
      ...clock,
      after: (...args) => {
        const timer = clock.after(...args)
        this.#timers.push(timer)
        return timer
      },
    }
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** A point at which it may die. True: it is dead. */
  pass(where: string): boolean {
    if (!this.#isDead && this.#fuse.pass(where)) this.die()
    return this.#isDead
  }

  die(): void {
    this.#isDead = true
    for (const timer of this.#timers) timer.cancel()
    this.#onDeath()
  }

  /** Resolves when what was on its way to the database has arrived, as it does when a process dies behind it. */
  async landed(): Promise<void> {
    await Promise.allSettled(this.#writes)
  }

  journal(journal: Journal): Journal {
    return new Proxy(journal, {
      get: (_, name) => {
        if (name === 'memos') return this.#watch.memos
        const member: unknown = Reflect.get(journal, name)
        if (typeof member !== 'function') return member
        const call = member.bind(journal) as Call
        if (name === 'progress') return (...args: unknown[]) => (this.#isDead ? undefined : call(...args))
        return (...args: unknown[]) => this.#write(call, args)
      },
    })
  }

  run(run: Run): Run {
    const calls = Object.entries(Object.getOwnPropertyDescriptors(run)).flatMap(([name, { value }]) =>
      typeof value === 'function' ? [[name, this.#call(name, value as Call)] as const] : [],
    )
    return replaced(run, Object.fromEntries(calls) as Partial<Run>)
  }

  #write(call: Call, args: readonly unknown[]): Promise<unknown> {
    if (this.#isDead) return never()
    let made: unknown = args[0]
    const isCutOff = (memo: unknown): boolean => {
      if (this.#isDead) return true
      made = memo
      if (isMemo(memo)) this.#watch.kept(memo)
      return this.pass(`before the commit of ${nameOf(memo)}`)
    }
    // What a write does in its own transaction comes before the commit; if it dies there, that is rolled back.
    const inside =
      (work: Call) =>
      async (...given: unknown[]) => {
        const memo = await Promise.race([work(...given), this.died])
        if (isCutOff(memo)) throw new Died()
        return memo
      }
    const works = args.map((arg) => (typeof arg === 'function' ? inside(arg as Call) : arg))
    if (!args.some((arg) => typeof arg === 'function') && isCutOff(made)) return never()
    const writing = Promise.resolve(call(...works))
    this.#writes.add(writing)
    const where = (): string => `after the commit of ${nameOf(made)}`
    return this.#answered(writing, where, (stored) => {
      if (isMemo(made)) this.memos.set(made.key, { ...made, ...(stored as StoredOutcome) })
    })
  }

  #call(method: string, call: Call): Call {
    return (...args) => {
      if (this.#isDead) return never()
      const [name] = args
      if (typeof name === 'string') this.#watch.asked(name)
      if (!named.has(method) && args.some((arg) => typeof arg === 'function')) this.#watch.scoped()
      const where = typeof name === 'string' ? `${method} "${name}"` : method
      const answer = call(...args.map((arg) => (typeof arg === 'function' ? this.#body(where, arg as Call) : arg)))
      if (!(answer instanceof Promise)) return answer
      const answered = this.#answered(answer, () => `after the answer of ${where}`)
      // A call that nobody awaits must not end the process when it fails.
      answered.catch(() => undefined)
      return answered
    }
  }

  #body(where: string, body: Call): Call {
    return (...args) => {
      const key = args.find(isStep)?.key
      const of = key === undefined ? where : `"${key}"`
      if (this.pass(`before the body of ${of}`)) return never()
      if (key !== undefined) this.began.push(key)
      const end = (): string => `after the body of ${of}`
      let answer: unknown
      try {
        answer = body(...args)
      } catch (error) {
        if (this.pass(end())) return never()
        throw error
      }
      if (isThenable(answer)) return this.#answered(Promise.resolve(answer), end)
      return this.pass(end()) ? never() : answer
    }
  }

  #answered(promise: Promise<unknown>, where: () => string, then?: (answer: unknown) => void): Promise<unknown> {
    return promise.then(
      (answer) => {
        then?.(answer)
        return this.pass(where()) ? never() : answer
      },
      (error: unknown) => {
        if (this.pass(where())) return never()
        throw error
      },
    )
  }
}

/** What takes a function that is a step's body. Any other function may make calls under keys of another scope. */
const named: ReadonlySet<string> = new Set(['step', 'transaction'])

type Call = (...args: unknown[]) => unknown

/** Undoes the transaction that it is thrown in. Nobody else ever sees it. */
class Died extends Error {}

export function never(): Promise<never> {
  return new Promise(() => undefined)
}

function isMemo(value: unknown): value is NewMemo {
  return typeof value === 'object' && value !== null && 'ordinal' in value && 'key' in value
}

function nameOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'key' in value ? `"${String(value.key)}"` : 'a write'
}

function isStep(value: unknown): value is Step {
  return typeof value === 'object' && value !== null && 'idempotencyKey' in value && 'key' in value
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
