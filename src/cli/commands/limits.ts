import { InvalidArgumentError, type Command } from 'commander'
import {
  applyDefinitions,
  pauseWorkflow,
  resumeWorkflow,
  setLimits,
  showLimits,
  unsetLimits,
  type SetLimits,
} from '../../db/limit-calls.ts'
import type { Database } from '../../db/database.ts'
import { verifySchema } from '../../db/migrate.ts'
import { definitionItem } from '../../db/record-definitions.ts'
import { parseDuration } from '../../model/duration.ts'
import { ArgumentError, ConfigError } from '../../model/errors.ts'
import { release } from '../../model/release.ts'
import { unstorable } from '../../model/storable.ts'
import { byWhom, whoIs, type ByFlags } from '../by-whom.ts'
import { withConnection, withDatabase, type ConnectionFlags } from '../connection.ts'
import { loadWorkflows } from '../load-workflows.ts'
import { printJson } from '../show.ts'
import { printLimits, type ShownLimits } from '../show-limits.ts'

interface Flags extends ConnectionFlags {
  readonly json?: boolean
}

/** What a flag says for no cap; null would come as an empty text. */
const none = 'none'

type Cap<Name extends keyof SetLimits> = NonNullable<SetLimits[Name]> | typeof none

interface SetFlags extends Flags, ByFlags {
  readonly concurrency?: Cap<'concurrency'>
  readonly groupConcurrency?: Cap<'concurrency'>
  readonly rate?: Cap<'rate'>
  readonly groupRate?: Cap<'rate'>
  readonly fair?: boolean
}

type Given = 'concurrency' | 'groupConcurrency' | 'rate' | 'groupRate' | 'fair'

/** What each flag is called in a policy. */
const names = {
  concurrency: 'concurrency',
  groupConcurrency: 'concurrencyPerGroup',
  rate: 'rate',
  groupRate: 'ratePerGroup',
  fair: 'isFair',
} as const satisfies Record<Given, keyof SetLimits>

const flagNames = Object.keys(names) as Given[]

export function addLimits(program: Command): void {
  const limits = program.command('limits').description('show limits, and change them for all processes at once')

  onWorkflow(limits, 'show [workflow]', 'show the limits in force, who set them, and how their lines stand', show)

  byWhom(onWorkflow(limits, 'set <workflow>', "set limits over the code's", set))
    .option('--concurrency <count>', 'how many run at once; none: no cap', readCap)
    .option('--group-concurrency <count>', 'how many of each group run at once; none: no cap', readCap)
    .option('--rate <limit/per>', 'how many begin in a stretch of time, such as 10/1s; none: no cap', readRate)
    .option('--group-rate <limit/per>', 'how many of each group begin in a stretch of time; none: no cap', readRate)
    .option('--fair', 'slots go round-robin between groups')
    .option('--no-fair', 'slots go by priority and due time alone')

  byWhom(onWorkflow(limits, 'unset <workflow>', "go back to the code's limits: those named, or all", unset))
    .option('--concurrency', 'this one')
    .option('--group-concurrency', 'this one')
    .option('--rate', 'this one')
    .option('--group-rate', 'this one')
    .option('--fair', 'this one')

  onWorkflow(
    limits,
    'apply [workflow]',
    'put the limits of code in force, though others were first seen later',
    apply,
  ).requiredOption('--code <file>', 'a TypeScript or JavaScript file that exports workflows')

  byWhom(onWorkflow(limits, 'pause <workflow>', 'let no run of it begin; those that run go on', pause)).option(
    '--reason <text>',
    'kept with the pause',
  )
  onWorkflow(limits, 'resume <workflow>', 'let its runs begin again', resume)
}

type Work<F extends Flags> = (database: Database, workflow: string, flags: F) => Promise<void>

function onWorkflow<F extends Flags>(limits: Command, usage: string, description: string, work: Work<F>): Command {
  return withConnection(limits.command(usage))
    .description(description)
    .option('--json', 'print the limits in force as JSON')
    .action((workflow: string | undefined, flags: F) =>
      withDatabase(flags, async (database) => {
        const problem = unstorable(workflow ?? '')
        if (problem) throw new ArgumentError(`The workflow's name ${problem}.`, { field: 'workflow' })
        await verifySchema(database, release)
        await work(database, workflow ?? '', flags)
        const shown = JSON.parse(await showLimits(database, workflow)) as ShownLimits[]
        if (flags.json) printJson(shown)
        else printLimits(shown)
      }),
    )
}

async function show(): Promise<void> {}

async function set(database: Database, workflow: string, flags: SetFlags): Promise<void> {
  const given = flagNames.filter((name) => flags[name] !== undefined)
  if (given.length === 0) {
    throw new ArgumentError('No limit was given.', {
      field: '--concurrency',
      remedy: 'Give --concurrency, --group-concurrency, --rate, --group-rate or --fair.',
    })
  }
  const limits: SetLimits = Object.fromEntries(
    given.map((name) => [names[name], flags[name] === none ? null : flags[name]]),
  )
  await setLimits(database, workflow, limits, whoIs(flags))
}

async function unset(
  database: Database,
  workflow: string,
  flags: Partial<Record<Given, true>> & Flags & ByFlags,
): Promise<void> {
  const given = flagNames.filter((name) => flags[name])
  await unsetLimits(database, workflow, given.length > 0 ? given.map((name) => names[name]) : undefined, whoIs(flags))
}

async function apply(database: Database, workflow: string, { code }: Flags & { code: string }): Promise<void> {
  const workflows = (await loadWorkflows(code)).filter(({ name }) => workflow === '' || name === workflow)
  if (workflows.length === 0) {
    throw new ConfigError(`${code} exports no workflow "${workflow}".`, {
      field: 'workflow',
      remedy: 'Name one it has.',
    })
  }
  await applyDefinitions(database, workflows.map(definitionItem))
}

async function pause(
  database: Database,
  workflow: string,
  flags: Flags & ByFlags & { reason?: string },
): Promise<void> {
  await pauseWorkflow(database, workflow, whoIs(flags), flags.reason)
}

async function resume(database: Database, workflow: string): Promise<void> {
  if (!(await resumeWorkflow(database, workflow))) console.error(`${workflow} was not paused.`)
}

function readCap(text: string): Cap<'concurrency'> {
  if (text === none) return none
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, 1 or more, or none. To let nothing begin, pause it.')
}

function readRate(text: string): Cap<'rate'> {
  if (text === none) return none
  const [, limit, per] = /^([1-9]\d{0,8})\/(\S+)$/.exec(text) ?? []
  if (limit === undefined || per === undefined) {
    throw new InvalidArgumentError('It must be a number and a stretch of time, such as 10/1s or 100/1m, or none.')
  }
  const perMs = parseDuration(per, 'rate')
  if (perMs < 1) throw new InvalidArgumentError('The stretch of time must be 1 ms or more.')
  return { limit: Number(limit), perMs }
}
