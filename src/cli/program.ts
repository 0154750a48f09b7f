import { Command } from 'commander'
import { release } from '../model/release.ts'
import { addAudit } from './commands/audit.ts'
import { addLimits } from './commands/limits.ts'
import { addMessages } from './commands/messages.ts'
import { addMetrics } from './commands/metrics.ts'
import { addMigrate } from './commands/migrate.ts'
import { addRunCommands } from './commands/runs.ts'
import { addSchedules } from './commands/schedules.ts'
import { addStart } from './commands/start.ts'
import { addWhy } from './commands/why.ts'
import { addWorker } from './commands/worker.ts'

export function createProgram(): Command {
  const program = new Command('workflow')
    .description('Durable workflows on your Postgres.')
    .version(release)
    .showHelpAfterError('(--help says more)')
    .exitOverride()
  addMigrate(program)
  addWorker(program)
  addStart(program)
  addRunCommands(program)
  addWhy(program)
  addMessages(program)
  addLimits(program)
  addAudit(program)
  addSchedules(program)
  addMetrics(program)
  return program
}
