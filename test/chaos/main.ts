/**
 * `npm run chaos -- SUITE [options]`. Progress goes to stderr; with --json stdout is the figures as one line of JSON.
 * The exit code is 1 if a promise was broken, or too little happened to tell.
 */
import { parseArgs } from 'node:util'
import { runLimits } from './limits.ts'
import { runOutages } from './outages.ts'
import { runStorm } from './storm.ts'
import { keepEvidence, type SuiteOptions, type SuiteResult } from './suite.ts'

const usage = `npm run chaos -- storm|outages|limits [options]
  --seed N      repeat the plan of that seed; default: a new one
  --short       the form of the gate
  --no-locks    storm: dead workers are found by their leases alone, not by their sessions
  --json        print the figures as one line of JSON`

const suites: Readonly<Record<string, (options: SuiteOptions) => Promise<SuiteResult>>> = {
  storm: runStorm,
  outages: runOutages,
  limits: runLimits,
}

class UsageError extends Error {}

function parse(args: string[]): { suite: (typeof suites)[string]; options: SuiteOptions; isJson: boolean } {
  const { values, positionals } = split(args)
  const suite = positionals.length === 1 ? suites[positionals[0] ?? ''] : undefined
  if (suite === undefined) throw new UsageError(`Name one suite: ${Object.keys(suites).join(', ')}.`)
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
  if (!Number.isInteger(seed) || seed < 0) throw new UsageError(`--seed: "${values.seed}" is not a whole number.`)
  if (values['no-locks'] && suite !== runStorm) throw new UsageError('--no-locks is for the storm.')
  const options: SuiteOptions = {
    seed,
    isShort: values.short,
    hasLocks: !values['no-locks'],
    log: (line) => console.error(line),
  }
  return { suite, options, isJson: values.json }
}

function split(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        seed: { type: 'string' },
        short: { type: 'boolean', default: false },
        'no-locks': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

try {
  const { suite, options, isJson } = parse(process.argv.slice(2))
  const { figures, counterExamples, isGood, evidence } = await suite(options)
  for (const example of counterExamples) console.error(`\n${example}\n`)
  if (!isGood) console.error(`All that is known is in ${await keepEvidence(evidence)}`)
  if (isJson) console.log(JSON.stringify(figures))
  else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)} ${JSON.stringify(value)}`)
  console.error(isGood ? 'Every promise was kept.' : 'A promise was broken, or too little happened to tell.')
  process.exitCode = isGood ? 0 : 1
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${usage}` : error)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
