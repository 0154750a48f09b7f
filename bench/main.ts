/**
 * `npm run bench -- SUITE [options]`. Progress and the table go to stderr; with --json the last line of stdout is the
 * result.
 */
import { parseArgs } from 'node:util'
import { latencyTable } from './latency-table.ts'
import { runLatency } from './latency.ts'
import { limitsTable } from './limits-table.ts'
import { runLimits } from './limits.ts'
import { peerNames, timedPeerNames, works, type Work } from './peers/peer.ts'
import { throughputTable } from './throughput-table.ts'
import { runThroughput } from './throughput.ts'
import { tracingTable } from './tracing-table.ts'
import { runTracing } from './tracing.ts'
import { waitsTable } from './waits-table.ts'
import { runWaits } from './waits.ts'

const usage = `npm run bench -- throughput [options]     runs a second, with as many in flight as there are slots
npm run bench -- latency [options]        how long one run takes on an idle system
npm run bench -- limits [options]         what limits cost, and runs set aside behind one; takes --rounds and --json alone
npm run bench -- tracing [options]        what spans and metrics cost a worker; as limits
npm run bench -- waits [options]         what a million sleeping runs cost, and how soon those that wait go on; as limits
  --work W0,W1,W3,W10                  which works; default: all, of latency W0,W3
  --rounds 3                           rounds of each cell
  --runs N                             runs of a round; default: throughput what takes 3 to 20 seconds, latency 300
  --peers ceiling,graphile,holdfast    who takes part; default: all, of latency without ceiling
  --slots 16,64,200                    throughput: how many runs a worker may have in flight
  --profile FOLDER                     throughput: leave a CPU profile of every worker process there
  --json                               end stdout with the result as one line of JSON
BENCH_DATABASE_URL names a server to use, as a superuser, instead of one of the benchmark's own.`

class UsageError extends Error {}

type Values = ReturnType<typeof split>['values']

interface Report {
  readonly result: object
  readonly table: string
}

const latencyWorks: readonly Work[] = ['W0', 'W3']

const say = (line: string): void => console.error(line)

const suites: Readonly<Record<string, (values: Values) => Promise<Report>>> = {
  async throughput(values) {
    const result = await runThroughput(
      {
        works: namesIn('work', works, values.work) ?? works,
        slots: (values.slots ?? '16,64,200').split(',').map((text) => countIn('slots', text)),
        rounds: countIn('rounds', values.rounds),
        runs: values.runs === undefined ? undefined : countIn('runs', values.runs),
        peers: namesIn('peers', peerNames, values.peers) ?? peerNames,
        profileFolder: values.profile,
      },
      say,
    )
    return { result, table: throughputTable(result) }
  },

  async latency(values) {
    if (values.slots !== undefined || values.profile !== undefined) {
      throw new UsageError('--slots and --profile belong to throughput.')
    }
    const result = await runLatency(
      {
        works: namesIn('work', works, values.work) ?? latencyWorks,
        rounds: countIn('rounds', values.rounds),
        runs: values.runs === undefined ? undefined : countIn('runs', values.runs),
        peers: namesIn('peers', timedPeerNames, values.peers) ?? timedPeerNames,
      },
      say,
    )
    return { result, table: latencyTable(result) }
  },

  async limits(values) {
    const outcome = await runLimits({ rounds: roundsAlone('limits', values) }, say)
    return { result: outcome.result, table: limitsTable(outcome) }
  },

  async tracing(values) {
    const outcome = await runTracing({ rounds: roundsAlone('tracing', values) }, say)
    return { result: outcome.result, table: tracingTable(outcome) }
  },

  async waits(values) {
    const { result, rounds } = await runWaits({ rounds: roundsAlone('waits', values) }, say)
    return { result, table: waitsTable(rounds) }
  },
}

function split(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        work: { type: 'string' },
        slots: { type: 'string' },
        rounds: { type: 'string', default: '3' },
        runs: { type: 'string' },
        peers: { type: 'string' },
        profile: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function namesIn<T extends string>(
  option: string,
  known: readonly T[],
  text: string | undefined,
): readonly T[] | undefined {
  return text?.split(',').map((given) => {
    const name = known.find((one) => one === given)
    if (name === undefined) throw new UsageError(`--${option}: "${given}" is not one of ${known.join(', ')}.`)
    return name
  })
}

function roundsAlone(suite: string, values: Values): number {
  if ([values.work, values.slots, values.runs, values.peers, values.profile].some((value) => value !== undefined)) {
    throw new UsageError(`${suite} takes --rounds and --json alone.`)
  }
  return countIn('rounds', values.rounds)
}

function countIn(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) {
    throw new UsageError(`--${option}: "${text}" is not a whole number above 0.`)
  }
  return value
}

try {
  const { values, positionals } = split(process.argv.slice(2))
  const [name = '', ...rest] = positionals
  const suite = Object.hasOwn(suites, name) && rest.length === 0 ? suites[name] : undefined
  if (!suite) throw new UsageError(`Name one suite: ${Object.keys(suites).join(', ')}.`)
  const { result, table } = await suite(values)
  console.error(`\n${table}`)
  if (values.json) console.log(JSON.stringify(result))
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${usage}` : error)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
