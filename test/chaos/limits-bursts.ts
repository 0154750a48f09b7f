import type { Haul, WorkflowName } from './limits-workflows.ts'
import { workflowNames } from './limits-workflows.ts'
import type { Random } from './random.ts'

/** Runs of one workflow that are started together. */
export interface Burst {
  readonly at: number
  readonly workflow: WorkflowName
  readonly hauls: readonly Haul[]
  /** They are started in a transaction that stays open for so long, while later starts commit. */
  readonly held: { readonly ms: number; readonly isCommitted: boolean } | undefined
}

interface BurstPlan {
  readonly runs: number
  readonly stretchMs: number
}

const groupCount = 20
const groups = Array.from({ length: groupCount }, (_, index) => `g${index}`)
const largestBurst = 50
/** No wait begins later than this before the end of the starts, so that the suite's end need not wait for it. */
const lastWaitMs = 8_000

/** Percent of all runs. Those with rates get about what these let begin. */
const shares: Readonly<Record<WorkflowName, number>> = {
  solo: 8,
  pairs: 8,
  fives: 8,
  plain: 5,
  wide: 7,
  fair: 5,
  rated: 25,
  ratedGroups: 24,
  mixed: 4,
  deployed: 6,
}

export function planBursts(random: Random, { runs, stretchMs }: BurstPlan): Burst[] {
  return workflowNames.flatMap((workflow) => {
    const sizes = split(random, Math.round((runs * shares[workflow]) / 100))
    return sizes.map((size, index): Burst => {
      const at = ((index + random.next()) / sizes.length) * stretchMs
      const mayWait = at < stretchMs - lastWaitMs
      // Most of a burst falls upon one group, whose line is long then while others are empty.
      const hot = random.pick(groups)
      const isEven = workflow === 'ratedGroups'
      const hauls = Array.from({ length: size }, () => planHaul(random, isEven ? undefined : hot, workflow, mayWait))
      return { at, workflow, hauls, held: planHold(random) }
    })
  })
}

function split(random: Random, runs: number): number[] {
  const sizes: number[] = []
  for (let left = runs; left > 0;) {
    const size = Math.min(left, 1 + random.whole(largestBurst))
    sizes.push(size)
    left -= size
  }
  return sizes
}

function planHold(random: Random): Burst['held'] {
  if (random.whole(6) > 0) return undefined
  return { ms: random.between(100, 1_500), isCommitted: random.whole(8) > 0 }
}

function planHaul(random: Random, hot: string | undefined, workflow: WorkflowName, mayWait: boolean): Haul {
  const chance = random.next()
  const group = random.next()
  const isRated = workflow === 'rated' || workflow === 'ratedGroups'
  return {
    group: hot !== undefined && group < 0.7 ? hot : group < 0.97 ? random.pick(groups) : null,
    ms: Math.round(isRated ? random.between(2, 20) : planMs(random)),
    turn: chance < 0.02 ? 'retry' : chance < 0.04 ? 'snooze' : chance < 0.05 && mayWait ? 'suspend' : 'none',
  }
}

/** Mostly short; a few outlast the grace of a worker that is to stop, which gives them back. */
function planMs(random: Random): number {
  const chance = random.next()
  if (chance < 0.5) return random.between(20, 100)
  if (chance < 0.99) return random.between(100, 500)
  return random.between(1_200, 2_000)
}
