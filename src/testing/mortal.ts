import type { Clock, Timer } from '../model/clock.ts'
import type { Journal, NewMemo, StoredOutcome, WaitAnswer } from '../model/journal.ts'
import type { Run, Step } from '../model/run.ts'
import type { CrashFuse } from './crash-fuse.ts'
import { replaced } from './with-run.ts'

/**
 * What stands for the process of one claim, which may die. From its death on nothing of it reaches the journal and no call
 * is answered, so the handler stops where it stands. It may die before and after each write, whenever a call on `run` has
 * been answered, and before and after each body; of these points the fuse counts those that differ.
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
  readonly #of: string
  readonly #writes = new Set<Promise<unknown>>()
  readonly #timers: Timer[] = []
  #isDead = false
  #hasActed = false
  #onDeath: () => void = () => undefined

  /** `of`: whose claim it is, for the names of points. */
  constructor(fuse: CrashFuse, clock: Clock, of: string) {
    this.#fuse = fuse
    this.#of = of
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
    if (!this.#isDead && this.#fuse.pass(where + this.#of)) this.die()
    return this.#isDead
  }

  /** Something is done that a death does not take back. */
  act(): void {
    this.#hasActed = true
    this.#fuse.changed()
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
      if (this.pass(`before the commit of ${nameOf(memo)}`)) return true
      // Once sent it arrives, whatever becomes of the process.
      this.act()
      return false
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
    return this.#answered(writing, where, (answer) => {
      const outcome = outcomeOf(answer as StoredOutcome | WaitAnswer)
      if (isMemo(made) && outcome) this.memos.set(made.key, { ...made, ...outcome })
    })
  }

  #call(method: string, call: Call): Call {
    return (...args) => {
      if (this.#isDead) return never()
      const name = nameOfCall(args[0])
      const where = name === undefined ? method : `${method} "${name}"`
      const answer = call(...args.map((arg) => this.#cuttable(method, where, arg)))
      if (!(answer instanceof Promise)) return answer
      // What it says to a handler that has done nothing yet in this claim, it has said before.
      const goesOn = (): void => void (this.#hasActed && this.#fuse.changed())
      const answered = this.#answered(answer, () => `after the answer of ${where}`, undefined, goesOn)
      // A call that nobody awaits must not end the process when it fails.
      answered.catch(() => undefined)
      return answered
    }
  }

  #cuttable(method: string, where: string, arg: unknown): unknown {
    if (typeof arg === 'function') return this.#body('body', where, arg as Call)
    if (!named.has(method) || typeof arg !== 'object' || arg === null || !('rollback' in arg)) return arg
    const { rollback } = arg
    return typeof rollback === 'function' ? { ...arg, rollback: this.#body('rollback', where, rollback as Call) } : arg
  }

  #body(what: 'body' | 'rollback', where: string, body: Call): Call {
    return (...args) => {
      const key = args.find(isStep)?.key
      const of = key === undefined ? where : `"${key}"`
      if (this.pass(`before the ${what} of ${of}`)) return never()
      if (key !== undefined) this.began.push(key)
      this.act()
      const end = (): string => {
        this.#fuse.changed()
        return `after the ${what} of ${of}`
      }
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

  #answered(
    promise: Promise<unknown>,
    where: () => string,
    then?: (answer: unknown) => void,
    goesOn?: () => void,
  ): Promise<unknown> {
    return promise.then(
      (answer) => {
        then?.(answer)
        if (this.pass(where())) return never()
        goesOn?.()
        return answer
      },
      (error: unknown) => {
        if (this.pass(where())) return never()
        goesOn?.()
        throw error
      },
    )
  }
}

/** What takes a step's body, and the options of one. */
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

/** What is stored of an answer of the journal; undefined: nothing. */
function outcomeOf(answer: StoredOutcome | WaitAnswer): StoredOutcome | undefined {
  if (answer.kind === 'ended') return answer.outcome
  return answer.kind === 'open' || answer.kind === 'refused' ? undefined : answer
}

/** Of a step's name, a signal or a workflow. */
function nameOfCall(arg: unknown): string | undefined {
  const name: unknown = typeof arg === 'object' && arg !== null ? Reflect.get(arg, 'name') : arg
  return typeof name === 'string' ? name : undefined
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
