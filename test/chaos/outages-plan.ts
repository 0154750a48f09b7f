import type { StopMode } from '../../src/db/embedded.ts'
import { Random } from './random.ts'
import { planStarts, type StartGroup } from './starts.ts'
import { writingStatements, type WritingStatement } from './statements.ts'

export interface Restart {
  readonly at: number
  readonly mode: StopMode
  readonly downMs: number
  /** It comes when the next handler is about to return. */
  readonly isAtEnd: boolean
}

export interface PlannedCut {
  readonly at: number
  readonly place: number
  readonly statement: WritingStatement
}

export interface OutagesForm {
  readonly workers: number
  readonly runs: number
  readonly restarts: number
  /** How many of those come at the instant that a handler ends. */
  readonly restartsAtEnd: number
  readonly longestDownMs: number
  readonly cuts: number
  readonly stretchMs: number
  readonly longestBodyMs: number
}

export interface OutagesPlan {
  readonly restarts: readonly Restart[]
  readonly cuts: readonly PlannedCut[]
  readonly groups: readonly StartGroup[]
}

export const outagesForms: Readonly<Record<'short' | 'full', OutagesForm>> = {
  short: {
    workers: 3,
    runs: 200,
    restarts: 6,
    restartsAtEnd: 2,
    longestDownMs: 1_500,
    cuts: 40,
    stretchMs: 22_000,
    longestBodyMs: 800,
  },
  full: {
    workers: 4,
    runs: 2_000,
    restarts: 60,
    restartsAtEnd: 20,
    longestDownMs: 5_000,
    cuts: 200,
    stretchMs: 420_000,
    longestBodyMs: 1_600,
  },
}

/** The same for the same seed. */
export function planOutages(seed: number, form: OutagesForm): OutagesPlan {
  const random = new Random(seed)
  const { workers, restarts, restartsAtEnd, longestDownMs, cuts, stretchMs } = form
  const spread = (index: number, count: number): number => ((index + random.next()) / count) * stretchMs
  const endings = random.shuffle(Array.from({ length: restarts }, (_, index) => index < restartsAtEnd))
  const statements = random.shuffle(
    Array.from({ length: cuts }, (_, index) => writingStatements[index % writingStatements.length] as WritingStatement),
  )
  return {
    restarts: endings.map((isAtEnd, index) => ({
      at: spread(index, restarts),
      mode: random.pick(['fast', 'immediate'] as const),
      downMs: random.between(0, longestDownMs),
      isAtEnd,
    })),
    cuts: statements.map((statement, index) => ({
      at: spread(index, cuts),
      place: random.whole(workers),
      statement,
    })),
    groups: planStarts(random, form),
  }
}
