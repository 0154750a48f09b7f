import type { Command } from 'commander'
import type { Parked } from '../../client/messenger.ts'
import { byWhom, whoIs, type ByFlags } from '../by-whom.ts'
import { withClient, withConnection, type ConnectionFlags } from '../connection.ts'
import { readJson } from '../read-json.ts'
import { printable, printJson } from '../show.ts'

interface SignalFlags extends ConnectionFlags {
  readonly payload?: string
  readonly id?: string
}

interface ParkedFlags extends ConnectionFlags {
  readonly workflow?: string
  readonly json?: boolean
}

interface UnparkFlags extends ConnectionFlags, ByFlags {
  readonly answer: string
  readonly step?: string
}

/** The commands that send something to a run that waits for it. */
export function addMessages(program: Command): void {
  withConnection(program.command('signal'))
    .description('send a signal to a run; nothing checks it against a schema until it is received')
    .argument('<run>', 'its id')
    .argument('<signal>', 'the name of the signal')
    .option('--payload <json>', 'what it says, as JSON (default: null)')
    .option('--id <text>', 'sent again under the same id it is the same signal')
    .action((run: string, signal: string, { payload, id, ...flags }: SignalFlags) =>
      withClient(flags, async (client) => {
        await client.signal(run, signal, readJson(payload ?? 'null', '--payload'), id === undefined ? {} : { id })
        console.log(`${printable(signal)} sent to ${run}`)
      }),
    )

  withConnection(program.command('parked'))
    .description('list runs that wait for a person, those that have waited longest first')
    .option('--workflow <name>', 'only of this workflow')
    .option('--json', 'print a JSON array')
    .action(({ workflow, json, ...flags }: ParkedFlags) =>
      withClient(flags, async (client) => {
        const parked = await client.parked({ workflow })
        if (json) return printJson(parked)
        if (parked.length === 0) return console.error('No run waits for a person.')
        for (const each of parked) console.log(printable(line(each)))
      }),
    )

  byWhom(withConnection(program.command('unpark')))
    .description('answer what a parked run waits for')
    .argument('<run>', 'its id')
    .requiredOption('--answer <json>', 'the answer, as JSON')
    .option('--step <key>', 'what it is parked at, where it is parked at several')
    .action((run: string, { answer, step, ...flags }: UnparkFlags) =>
      withClient(flags, async (client) => {
        const by = whoIs(flags)
        await client.unpark(run, readJson(answer, '--answer'), { step, by })
        console.log(`${run} answered by ${printable(by)}`)
      }),
    )
}

function line({ run, workflow, step, reason, since, until }: Parked): string {
  const end = until === undefined ? '' : `, until ${until.toISOString()}`
  return `${run}  ${workflow}  ${step}  since ${since.toISOString()}${end}  ${reason}`
}
