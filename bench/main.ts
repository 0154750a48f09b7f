/**
 * `npm run bench -- SUITE [options]`. Progress and the table go to stderr; with --json the last line of stdout is the
 * result.
 */
import { parseArgs } from 'node:util'
import { peerNames, works } from './peers/peer.ts'
import { tableOf } from './report.ts'
import { runThroughput, type ThroughputOptions } from './throughput.ts'

const usage = `npm run bench -- throughput [options]
  --work W0,W1,W3,W10                  which works; default: all
  --slots 16,64,200                    how many runs a worker may have in flight
  --rounds 3                           rounds of each cell
  --runs N                             runs of a round; default: what takes 3 to 20 seconds
  --peers ceiling,graphile,holdfast    who takes part; default: all
  --profile FOLDER                     leave a CPU profile of every worker process there
  --json                               end stdout with the result as one line of JSON
BENCH_DATABASE_URL names a server to use, as a superuser, instead of one of the benchmark's own.`

class UsageError extends Error {}

interface Command {
  readonly options: ThroughputOptions
  readonly isJson: boolean
}

function parse(args: string[]): Command {
  const { values, positionals } = split(args)
  if (positionals.length !== 1 || positionals[0] !== 'throughput') throw new UsageError('Name one suite: throughput.')
  return {
    options: {
      works: namesIn('work', works, values.work),
      slots: values.slots.split(',').map((text) => countIn('slots', text)),
      rounds: countIn('rounds', values.rounds),
      runs: values.runs === undefined ? undefined : countIn('runs', values.runs),
      peers: namesIn('peers', peerNames, values.peers),
      profileFolder: values.profile,
    },
    isJson: values.json,
  }
}

function split(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        work: { type: 'string' },
        slots: { type: 'string', default: '16,64,200' },
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

function namesIn<T extends string>(option: string, known: readonly T[], text: string | undefined): readonly T[] {
  if (text === undefined) return known
  return text.split(',').map((given) => {
    const name = known.find((one) => one === given)
    if (name === undefined) throw new UsageError(`--${option}: "${given}" is not one of ${known.join(', ')}.`)
    return name
  })
}

function countIn(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) {
    throw new UsageError(`--${option}: "${text}" is not a whole number above 0.`)
  }
  return value
}

try {
  const { options, isJson } = parse(process.argv.slice(2))
  const result = await runThroughput(options, (line) => console.error(line))
  console.error(`\n${tableOf(result)}`)
  if (isJson) console.log(JSON.stringify(result))
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${usage}` : error)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
