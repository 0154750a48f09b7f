import fc from 'fast-check'
import { defineWorkflow, type Run, type Workflow } from '../../src/index.ts'
import { turn } from './turn.ts'

/**
 * Random handlers: trees of steps and waits in sequence, in parallel, in races, some failing, some in a catch, some awaited
 * by nobody. Names are few and sites many, so a site that gets another's answer is noticed: an answer names its site.
 */

export type Program =
  | Step
  | Wait
  | { readonly kind: 'sequence' | 'all' | 'any' | 'settled' | 'race' | 'map'; readonly parts: readonly Program[] }
  | { readonly kind: 'catch'; readonly part: Program; readonly instead: Program }
  /** Nobody awaits it. */
  | { readonly kind: 'floating'; readonly part: Program }
  /** Awaits so many promises that are resolved already: other chains get that far ahead. */
  | { readonly kind: 'dawdle'; readonly count: number }

interface Wait {
  readonly kind: 'sleep' | 'signal'
  readonly name: string
  /** Of a signal undefined: for ever. */
  readonly ms: number | undefined
}

interface Step {
  readonly kind: 'step' | 'transaction'
  readonly name: string
  /** How many turns of the event loop its body takes, first and again; 0: it answers or throws at once. */
  readonly turns: readonly [number, number]
  /** How many times its body fails before it gives an answer. */
  readonly failures: number
  readonly maxTries: number
  /** Between its tries; the longer is spent suspended. */
  readonly wait: 0 | '1h'
}

const leaf: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('step' as const, 'transaction' as const),
  name: fc.constantFrom('a', 'b'),
  turns: fc.tuple(fc.nat(6), fc.nat(6)),
  failures: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constantFrom(1, 2, Infinity)),
  maxTries: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.constant(2)),
  wait: fc.constantFrom(0 as const, '1h' as const),
})

const wait: fc.Arbitrary<Wait> = fc.oneof(
  fc.record({ kind: fc.constant('sleep' as const), name: fc.constantFrom('a', 's'), ms: fc.nat(3) }),
  fc.record({
    kind: fc.constant('signal' as const),
    name: fc.constantFrom('s', 't'),
    ms: fc.constantFrom(undefined, 0, 1, 5),
  }),
)

export const programs: fc.Arbitrary<Program> = fc.letrec<{ program: Program; parts: Program[] }>((tie) => ({
  parts: fc.array(tie('program'), { minLength: 1, maxLength: 4 }),
  program: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 2, arbitrary: leaf },
    wait,
    fc.record({ kind: fc.constant('dawdle' as const), count: fc.nat(12) }),
    fc.record({
      kind: fc.constantFrom(
        'sequence' as const,
        'sequence' as const,
        'all' as const,
        'any' as const,
        'settled' as const,
        'race' as const,
        'map' as const,
      ),
      parts: tie('parts'),
    }),
    fc.record({ kind: fc.constant('catch' as const), part: tie('program'), instead: tie('program') }),
    fc.record({ kind: fc.constant('floating' as const), part: tie('program') }),
  ),
})).program

/** What a site was given by its call, in the order in which the handler saw it. */
export interface Seen {
  readonly site: number
  /** The site whose body made it, and how often that had run; or the message of its error. */
  readonly answer: Answer | string
}

export interface Answer {
  readonly site: number
  readonly count: number
}

/** A program as a workflow, with a record of what its handler saw in each claim. */
export class Subject {
  readonly workflow: Workflow
  /** One list a claim. */
  readonly seen: Seen[][] = []
  /** The keys of steps whose bodies began, one list a claim. */
  readonly bodies: string[][] = []
  readonly #counts = new Map<number, number>()
  readonly #sites = new Map<Program, number>()
  #count = 0
  readonly #isDead: () => boolean

  constructor(program: Program, isDead: () => boolean) {
    this.#isDead = isDead
    const sited = this.#site(program)
    this.workflow = defineWorkflow({
      name: 'program',
      maxAttempts: 5,
      retry: { initial: 0 },
      handler: async (_, run) => {
        this.seen.push([])
        this.bodies.push([])
        return await this.#do(sited, run, this.seen.length - 1)
      },
    })
  }

  async #do(program: Program, run: Run, claim: number): Promise<unknown> {
    const each = (part: Program): Promise<unknown> => this.#do(part, run, claim)
    switch (program.kind) {
      case 'step':
      case 'transaction':
        return await this.#step(program, run, claim)
      case 'sleep':
      case 'signal':
        return await this.#wait(program, run, claim)
      case 'sequence': {
        const answers: unknown[] = []
        for (const part of program.parts) answers.push(await each(part))
        return answers
      }
      case 'all':
        return await Promise.all(program.parts.map(each))
      case 'any':
        return await Promise.any(program.parts.map(each))
      case 'map':
        return await run.map('map', program.parts, each, { concurrency: 2 })
      case 'settled':
        return (await Promise.allSettled(program.parts.map(each))).map(({ status }) => status)
      case 'race':
        return await Promise.race(program.parts.map(each))
      case 'catch':
        try {
          return await each(program.part)
        } catch {
          return await each(program.instead)
        }
      case 'floating':
        each(program.part).catch(() => undefined)
        return undefined
      case 'dawdle':
        for (let left = program.count; left > 0; left -= 1) await Promise.resolve()
        return undefined
    }
  }

  async #wait({ kind, name, ms }: Wait, run: Run, claim: number): Promise<unknown> {
    const see = (answer: string): void => void this.seen[claim]?.push({ site: 0, answer })
    if (kind === 'sleep') {
      await run.sleep(name, ms ?? 0)
      see('slept')
      return undefined
    }
    try {
      const answer = (await run.waitFor(name, { timeout: ms })) as string
      see(answer)
      return answer
    } catch (error) {
      see('late')
      throw error
    }
  }

  async #step(step: Step, run: Run, claim: number): Promise<unknown> {
    const site = this.#sites.get(step) ?? 0
    const body = async (handle: { readonly key: string }): Promise<Answer> => {
      if (this.#isDead()) return await new Promise(() => undefined)
      this.bodies[claim]?.push(handle.key)
      const count = (this.#counts.get(site) ?? 0) + 1
      this.#counts.set(site, count)
      for (let left = step.turns[count === 1 ? 0 : 1]; left > 0; left -= 1) await turn()
      if (count <= step.failures) throw new Error(`site ${site} failed ${count}`)
      return { site, count }
    }
    const retry = step.maxTries > 1 ? { retry: { initial: step.wait, maxTries: step.maxTries } } : {}
    const see = (answer: Answer | string): void => void this.seen[claim]?.push({ site, answer })
    try {
      const answer =
        step.kind === 'step'
          ? await run.step(step.name, body, retry)
          : await run.transaction(step.name, (_, handle) => body(handle), retry)
      see(answer)
      return answer
    } catch (error) {
      see((error as Error).message)
      throw error
    }
  }

  /** Whether the answer, or the error, was made by the site that got it. */
  isOwn({ site, answer }: Seen): boolean {
    // What a wait gets has no site.
    if (site === 0) return true
    return typeof answer === 'string' ? answer.startsWith(`site ${site} failed`) : answer.site === site
  }

  /** A copy in which every part is an object of its own, and numbered: what is generated may have one in two places. */
  #site(program: Program): Program {
    const site = (this.#count += 1)
    const copy = copyOf(program, (part) => this.#site(part))
    this.#sites.set(copy, site)
    return copy
  }
}

function copyOf(program: Program, copy: (part: Program) => Program): Program {
  switch (program.kind) {
    case 'step':
    case 'transaction':
    case 'dawdle':
    case 'sleep':
    case 'signal':
      return { ...program }
    case 'sequence':
    case 'all':
    case 'any':
    case 'settled':
    case 'race':
    case 'map':
      return { ...program, parts: program.parts.map(copy) }
    case 'catch':
      return { ...program, part: copy(program.part), instead: copy(program.instead) }
    case 'floating':
      return { ...program, part: copy(program.part) }
  }
}
