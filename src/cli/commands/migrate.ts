import type { Command } from 'commander'
import { migrationScript } from '../../db/migrate.ts'
import { rolesScript } from '../../db/roles.ts'
import { schemaNames } from '../../db/schema-names.ts'
import { release } from '../../model/release.ts'
import { withConnection, withDatabase, type ConnectionFlags } from '../connection.ts'
import { printJson } from '../show.ts'

interface Flags extends ConnectionFlags {
  readonly sql?: boolean
  readonly roles?: boolean
  readonly json?: boolean
}

export function addMigrate(program: Command): void {
  withConnection(program.command('migrate'))
    .description("bring the database's schema to this release; safe to run from many processes at once")
    .option('--sql', "print Holdfast's own migrations and functions as one script, and do nothing")
    .option('--roles', 'print the roles of a producer, a worker and a viewer as one script, and do nothing')
    .option('--json', 'print the result as JSON')
    .action(async (flags: Flags) => {
      if (flags.sql) return console.log(migrationScript(schemaNames(flags.schema), release))
      if (flags.roles) return console.log(rolesScript(schemaNames(flags.schema)))
      // The queue takes a while to load, and only this command and the worker need it.
      const { migrate } = await import('../../queue/migrate.ts')
      const result = await withDatabase(flags, (database) => migrate(database, release))
      if (flags.json) return printJson(result)
      const { applied, isFunctionsReplaced } = result
      if (applied.length > 0) console.log(`Applied ${applied.join(', ')}.`)
      else console.log(isFunctionsReplaced ? 'Functions were brought up to date.' : 'The schema is up to date.')
    })
}
