import { Command } from 'commander'
import { release } from '../model/release.ts'
import { addMigrate } from './commands/migrate.ts'
import { addRunCommands } from './commands/runs.ts'
import { addStart } from './commands/start.ts'
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
  return program
}
