/** The waits suite: what a million sleeping runs are to everybody else, and how soon those that wait go on. */
import type pg from 'pg'
import { timed } from './harness.ts'
import type { Load } from './peers/peer.ts'
import { openWaits } from './peers/waits.ts'
import { startServer, withDatabase, withFreshDatabase, type Server } from './postgres.ts'
import { playCalls, type Sides } from './waits-calls.ts'
import { figures, resultsOf, type FigureName, type WaitsRound } from './waits-figures.ts'
import { playHerd } from './waits-herd.ts'
import { playIdle } from './waits-idle.ts'
import { fillSleepers, makeSleeper } from './waits-sleepers.ts'
import { playWakings } from './waits-wake.ts'

export interface WaitsOptions {
  readonly rounds: number
}

interface WaitsResult {
  readonly suite: 'waits'
  readonly node: string
  readonly postgres: string
  readonly results: ReturnType<typeof resultsOf>
}

export interface WaitsOutcome {
  readonly result: WaitsResult
  readonly rounds: readonly WaitsRound[]
}

const sleepers = 1_000_000
const turns = 150

export async function runWaits({ rounds: total }: WaitsOptions, say: (line: string) => void): Promise<WaitsOutcome> {
  const server = await startServer()
  try {
    const rounds = await withFreshDatabase(server, (full) =>
      withFreshDatabase(server, async (empty) => {
        const original = await prepare({ full, empty }, say)
        const played: WaitsRound[] = []
        for (let number = 1; number <= total; number++) {
          const one = await playRound(server, { full, empty }, original)
          played.push(one)
          say(`round ${number}: ${describe(one)}`)
        }
        return played
      }),
    )
    const { version: postgres } = server
    return { result: { suite: 'waits', node: process.versions.node, postgres, results: resultsOf(rounds) }, rounds }
  } finally {
    await server.stop()
  }
}

/** Answers the sleeper that the others are copies of. */
async function prepare({ full, empty }: Sides, say: (line: string) => void): Promise<string> {
  let original = ''
  const ms = await timed(async () => {
    const load: Load = { work: 'W0', steps: 0, slots: 1, runs: 0, connectionString: full }
    await withDatabase(full, async (database) => {
      original = await makeSleeper(database, load)
      await fillSleepers(database, original, sleepers)
    })
    await (await openWaits(empty)).close()
    // Empty of sleepers, not of runs: else the planner knew the tables as empty ones.
    await playCalls({ full, empty }, 1)
    await tidy({ full, empty })
  })
  say(`${sleepers} runs sleep, made in ${Math.round(ms / 1000)} s`)
  return original
}

async function playRound(server: Server, sides: Sides, original: string): Promise<WaitsRound> {
  const idleBytes = await playIdle(sides)
  const calls = await playCalls(sides, turns)
  const wake = await playWakings(sides.full)
  const herd = await playHerd(server, sides.full, original)
  await tidy(sides)
  return { calls, herd, wake, idleBytes }
}

/** What a round leaves to clean up is in no other's figures. */
async function tidy({ full, empty }: Sides): Promise<void> {
  for (const side of [full, empty]) {
    await withDatabase(side, async (database: pg.Client) => {
      await database.query('vacuum analyze')
      await database.query('checkpoint')
    })
  }
}

function describe(one: WaitsRound): string {
  const named = (Object.keys(figures) as FigureName[]).map((name) => {
    const { of, digits } = figures[name]
    return `${name} ${of(one).toFixed(digits)}`
  })
  return named.join(', ')
}
