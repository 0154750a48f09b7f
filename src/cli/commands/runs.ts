import { Option, type Command } from 'commander'
import type { Client } from '../../client/client.ts'
import type { RunView } from '../../client/run-view.ts'
import { NotFoundError } from '../../model/errors.ts'
import { states, type State } from '../../model/state.ts'
import { withClient, withConnection, type ConnectionFlags } from '../connection.ts'
import { printRun, printRuns, type ShowFlags } from '../show.ts'
import { readCount } from './worker.ts'

type Flags = ConnectionFlags & ShowFlags

interface ListFlags extends Flags {
  readonly workflow?: string
  readonly state?: State
  readonly limit?: number
}

interface CancelFlags extends Flags {
  readonly reason?: string
}

/** The commands that show or steer runs that are there. */
export function addRunCommands(program: Command): void {
  onRun(program, 'show', 'show a run, and its claims with their traces', async (client, run) => {
    const view = await client.get(run)
    if (view) return view
    throw new NotFoundError(`There is no run ${run}.`, { field: 'run' })
  }).addOption(
    new Option('--trace-url <url>', 'where a trace is shown, with {traceId} in it (default: HOLDFAST_TRACE_URL)').env(
      'HOLDFAST_TRACE_URL',
    ),
  )
  onRun(program, 'cancel', 'cancel a run that has not ended', (client, run, { reason }) =>
    client.cancel(run, { reason }),
  ).option('--reason <text>', 'kept with the run')
  onRun(program, 'retry', 'bring a failed or cancelled run back; kept answers stay', (client, run) => client.retry(run))

  withConnection(program.command('list'))
    .description('list runs, newest first')
    .option('--workflow <name>', 'only of this workflow')
    .addOption(new Option('--state <state>', 'only in this state').choices(states))
    .option('--limit <count>', 'at most so many (default: 50)', readCount)
    .option('--json', 'print a JSON array')
    .option('--payloads', 'show input and output too, with --json')
    .action((flags: ListFlags) =>
      withClient(flags, async (client) => {
        const { workflow, state, limit } = flags
        printRuns((await client.list({ workflow, state, limit })).items, flags)
      }),
    )
}

function onRun(
  program: Command,
  name: string,
  description: string,
  work: (client: Client, run: string, flags: CancelFlags) => Promise<RunView>,
): Command {
  return withConnection(program.command(name))
    .description(description)
    .argument('<run>', 'its id')
    .option('--json', 'print it as JSON')
    .option('--payloads', 'show input and output too')
    .action((run: string, flags: CancelFlags) =>
      withClient(flags, async (client) => printRun(await work(client, run, flags), flags)),
    )
}
