/** The limits suite: what limits cost, and whether runs set aside behind one are in anybody's way. */
import { bars, cellNames, cells, type CellName } from './limits-cells.ts'
import { checkLines, fillGroup } from './limits-backlog.ts'
import { firstGate, playDepth } from './limits-depth.ts'
import { playSide } from './limits-round.ts'
import { median, round } from './measure.ts'
import { openLimited } from './peers/limited.ts'
import { startServer, withDatabase, withFreshDatabase, type Server } from './postgres.ts'

export interface LimitsOptions {
  readonly rounds: number
}

interface LimitsResult {
  readonly suite: 'limits'
  readonly node: string
  readonly postgres: string
  readonly results: Readonly<Record<CellName, number | null>>
}

const backlogRuns = 100_000

type LimitsRounds = Record<CellName, number[]>

export interface LimitsOutcome {
  readonly result: LimitsResult
  readonly rounds: LimitsRounds
}

export async function runLimits({ rounds: total }: LimitsOptions, say: (line: string) => void): Promise<LimitsOutcome> {
  const server = await startServer()
  try {
    const rounds: LimitsRounds = { many_groups: [], saturated: [], other_groups: [], unlimited_beside: [], depth: [] }
    await withFreshDatabase(server, async (backlog) => {
      await prepare(backlog)
      say(`${backlogRuns} runs are set aside`)
      for (let number = 1; number <= total; number++) {
        for (const name of cellNames) {
          const { ratio, note } = await playCell(server, backlog, name, number)
          rounds[name].push(ratio)
          say(`${name}, round ${number}: ${ratio.toFixed(3)}${note} (bar ${bars[name]})`)
        }
      }
    })
    const results = Object.fromEntries(cellNames.map((name) => [name, round(median(rounds[name]), 3)]))
    return {
      result: {
        suite: 'limits',
        node: process.versions.node,
        postgres: server.version,
        results: results as LimitsResult['results'],
      },
      rounds,
    }
  } finally {
    await server.stop()
  }
}

/** A database with one full group, that rounds are played in copies of. */
async function prepare(connectionString: string): Promise<void> {
  await withDatabase(connectionString, async (database) => {
    const limited = { workflows: ['limited'], groups: 1 } as const
    const client = await openLimited({ work: 'W0', steps: 0, slots: 1, runs: 0, connectionString, limited })
    try {
      const numbers = Array.from({ length: backlogRuns + 1 }, (_, place) => firstGate - 1 + place)
      await fillGroup(database, client, 'deep', numbers)
    } finally {
      await client.close()
    }
    await checkLines(database)
    await database.query('vacuum analyze')
  })
}

/** What one side leaves to the server to clean up slows down the next, so they take turns in going first. */
async function playCell(
  server: Server,
  backlog: string,
  name: CellName,
  number: number,
): Promise<{ readonly ratio: number; readonly note: string }> {
  if (name === 'depth') return { ratio: await playDepth(server, backlog), note: '' }
  const { ours, theirs } = cells[name]
  const isTurned = number % 2 === 0
  const first = await playSide(server, backlog, isTurned ? theirs : ours)
  const second = await playSide(server, backlog, isTurned ? ours : theirs)
  const [our, their] = isTurned ? [second, first] : [first, second]
  const rates = `${round(our.runs_s, 0)} to ${round(their.runs_s, 0)} runs/s`
  const cpu = `${round(our.cpu_ms, 0) ?? '-'} to ${round(their.cpu_ms, 0) ?? '-'} CPU ms/1k`
  return { ratio: our.runs_s / their.runs_s, note: `, ${rates}, ${cpu}` }
}
