import fc from 'fast-check'
import { z } from 'zod'
import { defineWorkflow, type Run, type Workflow } from '../../src/index.ts'
import { turn } from '../execute/turn.ts'

/**
 * Healthy workflows from a small grammar. Whatever happens to their processes, each of their parts has one answer, which
 * names the part: so a call that gets another one's answer changes the outcome. Names are few, so most are used again.
 */

export type Part = Call | Several

type Call =
  | { readonly kind: 'step' | 'transaction'; readonly name: string; readonly turns: number }
  /** A step whose first try in each claim fails. The longer wait is spent suspended. */
  | { readonly kind: 'flaky'; readonly name: string; readonly wait: '1s' | '1h' }
  | { readonly kind: 'sleep'; readonly hours: number }
  /** `go` is sent twice, `stop` never. */
  | { readonly kind: 'wait'; readonly name: 'go' | 'stop' }
  | { readonly kind: 'park' | 'value' | 'call' | 'start' }

type Several =
  | { readonly kind: 'chain' | 'all' | 'any' | 'race' | 'settled'; readonly parts: readonly Part[] }
  /** Something fails, and is caught. */
  | { readonly kind: 'caught'; readonly fails: 'step' | 'call'; readonly before: Part; readonly instead: Part }
  | { readonly kind: 'map' | 'loop' | 'floating'; readonly part: Part }

function isSeveral(part: Part): part is Several {
  return 'parts' in part || 'part' in part || 'before' in part
}

const leaf: fc.Arbitrary<Part> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('step' as const), name: fc.constantFrom('a', 'b'), turns: fc.nat(4) }),
  },
  fc.record({ kind: fc.constant('transaction' as const), name: fc.constantFrom('a', 'b'), turns: fc.nat(2) }),
  fc.record({ kind: fc.constant('flaky' as const), name: fc.constant('a'), wait: fc.constantFrom('1s', '1h') }),
  fc.record({ kind: fc.constant('sleep' as const), hours: fc.constantFrom(1, 1, 2) }),
  fc.record({ kind: fc.constant('wait' as const), name: fc.constantFrom('go', 'stop') }),
  fc.record({ kind: fc.constantFrom('park' as const, 'value' as const, 'call' as const, 'start' as const) }),
)

const { part: anyPart } = fc.letrec<{ part: Part; parts: Part[] }>((tie) => ({
  parts: fc.array(tie('part'), { minLength: 2, maxLength: 3 }),
  part: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.record({ kind: fc.constantFrom('chain', 'all', 'any', 'race', 'settled'), parts: tie('parts') }),
    fc.record({
      kind: fc.constant('caught' as const),
      fails: fc.constantFrom('step', 'call'),
      before: tie('part'),
      instead: tie('part'),
    }),
    fc.record({ kind: fc.constantFrom('map', 'loop', 'floating'), part: tie('part') }),
  ),
}))

/** How many calls on `run` a part comes to, about. */
function sizeOf(part: Part): number {
  if ('parts' in part) return part.parts.map(sizeOf).reduce((sum, size) => sum + size, 0)
  if (part.kind === 'caught') return 1 + sizeOf(part.before) + sizeOf(part.instead)
  if ('part' in part) return sizeOf(part.part) * (part.kind === 'floating' ? 1 : 2)
  return part.kind === 'call' || part.kind === 'start' ? 2 : 1
}

/** So many different ones, of about the same size. */
export function healthyPrograms(count: number, seed: number, least: number = 4, most: number = 5): Part[] {
  const programs = fc.array(anyPart, { minLength: 2, maxLength: 3 }).map((parts): Part => ({ kind: 'chain', parts }))
  const sized = programs.filter((program) => sizeOf(program) >= least && sizeOf(program) <= most)
  const distinct = new Map(fc.sample(sized, { seed, numRuns: count * 2 }).map((program) => [titleOf(program), program]))
  return [...distinct.values()].slice(0, count)
}

export function titleOf(part: Part): string {
  if ('parts' in part) return `${part.kind}(${part.parts.map(titleOf).join(', ')})`
  if (part.kind === 'caught') return `caught(${titleOf(part.before)}, failing ${part.fails}; ${titleOf(part.instead)})`
  if ('part' in part) return `${part.kind}(${titleOf(part.part)})`
  const { kind, ...how } = part
  return [kind, ...Object.values(how)].join(' ')
}

const kid = defineWorkflow({
  name: 'kid',
  input: z.boolean(),
  maxAttempts: 2,
  handler: async (isToFail, run) => {
    if (isToFail) return run.fail('as asked')
    return await run.step('a', () => turn().then(() => 'kid'))
  },
})

export const children: readonly Workflow[] = [kid]

export function workflowOf(program: Part): Workflow {
  return defineWorkflow({ name: 'healthy', handler: async (_, run) => await new Handler(run).do(program, '0') })
}

/** `at` is where in the program it is: what its parts answer. */
class Handler {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  async do(part: Part, at: string): Promise<unknown> {
    return isSeveral(part) ? await this.#several(part, at) : await this.#call(part, at)
  }

  async #call(part: Call, at: string): Promise<unknown> {
    const run = this.#run
    switch (part.kind) {
      case 'step':
        return await run.step(part.name, () => later(part.turns, at))
      case 'transaction':
        return await run.transaction(part.name, async (tx) => {
          await tx.query('select 1')
          return await later(part.turns, at)
        })
      case 'flaky':
        return await run.step(part.name, (step) => (step.try === 1 ? Promise.reject(new Error('busy')) : at), {
          retry: { initial: part.wait, jitter: 0 },
        })
      case 'sleep':
        await run.sleep('nap', `${part.hours}h`)
        return at
      case 'wait':
        return await run.waitFor(part.name, { timeout: '3h' }).then(
          () => `${at} heard`,
          () => (part.name === 'stop' ? `${at} late` : `${at} heard`),
        )
      case 'park':
        return await run.park('ask', { reason: 'May it?', schema: z.boolean(), timeout: '4h' }).then(
          () => at,
          () => at,
        )
      case 'value':
        return typeof (await run.random())
      case 'call':
        return `${at} ${await run.call(kid, false)}`
      case 'start':
        await run.start(kid, false)
        return at
    }
  }

  async #several(part: Several, at: string): Promise<unknown> {
    const each = (one: Part, index: number | string): Promise<unknown> => this.do(one, `${at}.${index}`)
    switch (part.kind) {
      case 'chain': {
        const answers: unknown[] = []
        for (const [index, one] of part.parts.entries()) answers.push(await each(one, index))
        return answers
      }
      case 'all':
        return await Promise.all(part.parts.map(each))
      case 'settled':
        return await Promise.allSettled([...part.parts.map(each), this.#fail('step')]).then((all) =>
          all.map(({ status }) => status),
        )
      // Who is first is on record once it matters; until then a crash may change it.
      case 'any':
        await Promise.any([this.#fail('step'), ...part.parts.map(each)])
        return at
      case 'race':
        await Promise.race(part.parts.map(each))
        return at
      case 'caught':
        try {
          await each(part.before, 'before')
          return await this.#fail(part.fails)
        } catch {
          return await each(part.instead, 'instead')
        }
      case 'map':
        return await this.#run.map('each', ['x', 'y'], (item) => each(part.part, item))
      case 'loop':
        return [await each(part.part, 'first'), await each(part.part, 'second')]
      case 'floating':
        each(part.part, 'aside').catch(() => undefined)
        return at
    }
  }

  async #fail(how: 'step' | 'call'): Promise<unknown> {
    if (how === 'call') return await this.#run.call(kid, true)
    return await this.#run.step('b', () => Promise.reject(new Error('declined')))
  }
}

async function later<T>(turns: number, answer: T): Promise<T> {
  for (let left = turns; left > 0; left -= 1) await turn()
  return answer
}
