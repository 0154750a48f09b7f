import { InvalidArgumentError, type Command } from 'commander'
import { readGroup } from '../../define/make-start.ts'
import { startNamed } from '../../db/calls.ts'
import { verifySchema } from '../../db/migrate.ts'
import { parseStartOptions } from '../../define/parse-start-options.ts'
import { systemClock } from '../../model/clock.ts'
import { ArgumentError } from '../../model/errors.ts'
import { uuidv7 } from '../../model/id.ts'
import { release } from '../../model/release.ts'
import { unstorable } from '../../model/storable.ts'
import { withConnection, withDatabase, type ConnectionFlags } from '../connection.ts'
import { readJson } from '../read-json.ts'
import { printJson } from '../show.ts'

interface Flags extends ConnectionFlags {
  readonly input?: string
  readonly key?: string
  readonly group?: string
  readonly id?: string
  readonly at?: Date
  readonly delay?: string
  readonly priority?: number
  readonly maxAttempts?: number
  readonly metadata?: Record<string, string>
  readonly allowDifferentInput?: boolean
  readonly json?: boolean
}

export function addStart(program: Command): void {
  withConnection(program.command('start'))
    .description('start a run of a workflow that a worker has, or had, on this database')
    .argument('<workflow>', 'its name')
    .option('--input <json>', 'the input; checked against the schema when a worker claims the run')
    .option('--key <key>', 'only one run a key lives at a time')
    .option('--group <group>', "the run's group, where the workflow has groups")
    .option('--id <uuid>', "the run's id; repeating a start with its id is safe")
    .option('--at <time>', 'when it is due, such as 2030-01-31T09:00:00Z', readTime)
    .option('--delay <duration>', 'due so long from now, such as 10m')
    .option('--priority <number>', "higher goes first (default: the workflow's)", readInteger)
    .option('--max-attempts <count>', "counted attempts (default: the workflow's)", readInteger)
    .option('--metadata <name=value>', 'kept with the run; may be repeated', readPair)
    .option('--allow-different-input', 'answer the run of the key or id even if it was started with another input')
    .option('--json', 'print the result as JSON')
    .action(async (workflow: string, flags: Flags) => {
      const problem = unstorable(workflow)
      if (problem) throw new ArgumentError(`The workflow's name ${problem}.`, { field: 'workflow' })
      const { key, id, at, delay, priority, maxAttempts, metadata } = flags
      const options = parseStartOptions({ key, id, at, delay, priority, maxAttempts, metadata }, workflow)
      const group = readGroup(flags.group, workflow)
      const input = readInput(flags.input)
      const started = await withDatabase(flags, async (database) => {
        await verifySchema(database, release)
        return await startNamed(database, {
          workflow,
          input,
          key: options.key,
          group,
          dueAt: options.at?.toISOString(),
          delayMs: options.delayMs,
          priority: options.priority,
          id: options.id ?? uuidv7(systemClock),
          metadata: metadata && JSON.stringify(options.metadata),
          maxAttempts: options.maxAttempts,
          allowDifferentInput: flags.allowDifferentInput === true,
        })
      })
      if (flags.json) return printJson(started)
      console.log(`${started?.id} ${started?.created ? 'started' : 'was there already'}, ${started?.state}`)
    })
}

function readInput(text: string | undefined): string {
  return text === undefined ? 'null' : JSON.stringify(readJson(text, '--input'))
}

function readTime(text: string): Date {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('It must be a time such as 2030-01-31T09:00:00Z.')
  return time
}

function readInteger(text: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}

function readPair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be name=value.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
