import { createClient } from '../../src/index.ts'
import { systemClock } from '../../src/model/clock.ts'
import { uuidv7 } from '../../src/model/id.ts'
import type { Address } from '../support/database.ts'
import type { AcknowledgedStart } from './evidence.ts'
import type { Random } from './random.ts'
import { stepKeys, voyage, type VoyageInput } from './workflows.ts'

/** Runs that are started together, at one instant of the suite. */
export interface StartGroup {
  readonly at: number
  readonly starts: readonly PlannedStart[]
}

export interface PlannedStart {
  readonly input: VoyageInput
  /** Started several times at once under this key. */
  readonly key: string | undefined
  /** The client makes the id itself, rather than the library. */
  readonly hasId: boolean
}

export interface StartPlan {
  readonly runs: number
  /** Over how long the starts are spread. */
  readonly stretchMs: number
  /** The longest that a body may take. */
  readonly longestBodyMs: number
}

const largestGroup = 8
const startsOfKey = 3
const turns = ['none', 'none', 'none', 'none', 'none', 'snooze', 'retry', 'throw'] as const

export function planStarts(random: Random, { runs, stretchMs, longestBodyMs }: StartPlan): StartGroup[] {
  const groups: PlannedStart[][] = []
  for (let index = 0; index < runs;) {
    const size = Math.min(runs - index, 1 + random.whole(largestGroup))
    const first = index
    groups.push(
      Array.from({ length: size }, (_, place) => ({
        input: {
          index: first + place,
          delays: stepKeys.map(() => Math.round(random.between(longestBodyMs / 8, longestBodyMs))),
          turn: random.pick(turns),
        },
        key: random.whole(4) === 0 ? `voyage ${first + place}` : undefined,
        hasId: random.whole(2) === 0,
      })),
    )
    index += size
  }
  return groups.map((starts, place) => ({ at: (place / groups.length) * stretchMs, starts }))
}

const tries = 50
const betweenTriesMs = 100

/** A client that starts runs, and writes down what it was told. */
export class Port {
  readonly acknowledged: AcknowledgedStart[] = []
  /** Of starts that were told of a conflict with themselves. */
  readonly falseConflicts: string[] = []
  readonly #address: Address

  constructor(address: Address) {
    this.#address = address
  }

  /** Starts a group as a process would that is there for it alone. */
  async start({ starts }: StartGroup): Promise<void> {
    const client = createClient({ connectionString: this.#address.connectionString, migrate: 'off' })
    try {
      await Promise.all(
        starts.flatMap((start) =>
          Array.from({ length: start.key === undefined ? 1 : startsOfKey }, () => this.#start(client, start)),
        ),
      )
    } finally {
      await client.close()
    }
  }

  async #start(client: ReturnType<typeof createClient>, { input, key, hasId }: PlannedStart): Promise<void> {
    const id = hasId && key === undefined ? uuidv7(systemClock) : undefined
    for (let left = tries; left > 0; left -= 1) {
      try {
        const started = await client.start(voyage, input, { id, key })
        const isOwn = key === undefined
        if (isOwn && id === undefined && !started.created) {
          this.falseConflicts.push(`A start with an id of its own was told that run ${started.id} was there before.`)
        }
        return void this.acknowledged.push({ id: started.id, index: input.index, key })
      } catch (error) {
        const { code, message } = error as { code?: string; message: string }
        if (code === 'DATABASE_UNREACHABLE') await systemClock.sleep(betweenTriesMs)
        else return void this.falseConflicts.push(`Start ${input.index}: ${code}: ${message}`)
      }
    }
  }
}
