import type { Command } from 'commander'
import type { Database } from '../../db/database.ts'
import { verifySchema } from '../../db/migrate.ts'
import { pauseSchedule, resumeSchedule, showSchedules, triggerSchedule } from '../../db/schedule-calls.ts'
import { readGroup } from '../../define/make-start.ts'
import { systemClock } from '../../model/clock.ts'
import { ArgumentError } from '../../model/errors.ts'
import { uuidv7 } from '../../model/id.ts'
import { release } from '../../model/release.ts'
import { unstorable } from '../../model/storable.ts'
import { byWhom, whoIs, type ByFlags } from '../by-whom.ts'
import { withConnection, withDatabase, type ConnectionFlags } from '../connection.ts'
import { printJson } from '../show.ts'
import { printSchedules, type ShownSchedule } from '../show-schedules.ts'

interface Flags extends ConnectionFlags {
  readonly json?: boolean
}

export function addSchedules(program: Command): void {
  const schedules = program.command('schedules').description('show schedules, pause them, and start runs of theirs now')

  onWorkflow(schedules, 'list [workflow]', 'show the schedules in force, where they stand and what came of them', list)

  byWhom(onWorkflow(schedules, 'pause <workflow>', 'let its schedule start no run; those started go on', pause)).option(
    '--reason <text>',
    'kept with the pause',
  )
  onWorkflow(schedules, 'resume <workflow>', 'let its schedule go on with the next instant', resume)

  byWhom(
    onWorkflow(schedules, 'trigger <workflow>', "start a run now with the schedule's input, paused or not", trigger),
  ).option('--group <group>', "the run's group, where the workflow has groups")
}

type Work<F extends Flags> = (database: Database, workflow: string, flags: F) => Promise<void>

function onWorkflow<F extends Flags>(schedules: Command, usage: string, description: string, work: Work<F>): Command {
  return withConnection(schedules.command(usage))
    .description(description)
    .option('--json', 'print it as JSON')
    .action((workflow: string | undefined, flags: F) =>
      withDatabase(flags, async (database) => {
        const problem = unstorable(workflow ?? '')
        if (problem) throw new ArgumentError(`The workflow's name ${problem}.`, { field: 'workflow' })
        await verifySchema(database, release)
        await work(database, workflow ?? '', flags)
      }),
    )
}

async function list(database: Database, workflow: string, { json }: Flags): Promise<void> {
  const shown = JSON.parse(await showSchedules(database, workflow === '' ? undefined : workflow)) as ShownSchedule[]
  if (json) printJson(shown)
  else printSchedules(shown)
}

async function pause(
  database: Database,
  workflow: string,
  flags: Flags & ByFlags & { reason?: string },
): Promise<void> {
  await pauseSchedule(database, workflow, whoIs(flags), flags.reason)
  await list(database, workflow, flags)
}

async function resume(database: Database, workflow: string, flags: Flags): Promise<void> {
  if (!(await resumeSchedule(database, workflow))) console.error(`The schedule of ${workflow} was not paused.`)
  await list(database, workflow, flags)
}

async function trigger(
  database: Database,
  workflow: string,
  flags: Flags & ByFlags & { group?: string },
): Promise<void> {
  const id = uuidv7(systemClock)
  await triggerSchedule(database, workflow, id, readGroup(flags.group, workflow), whoIs(flags))
  if (flags.json) printJson({ id })
  else console.log(id)
}
