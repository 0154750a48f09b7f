import { InvalidArgumentError, type Command } from 'commander'
import { connectionStringOf, withConnection, type ConnectionFlags } from '../connection.ts'
import { loadWorkflows } from '../load-workflows.ts'
import { terminalLogger } from '../terminal-logger.ts'

interface Flags extends ConnectionFlags {
  readonly code: string
  readonly concurrency?: number
  readonly grace?: string
  readonly migrate: boolean
}

export function addWorker(program: Command): void {
  withConnection(program.command('worker'))
    .description('run the workflows that a file exports, until SIGTERM or SIGINT')
    .requiredOption('--code <file>', 'a TypeScript or JavaScript file that exports workflows')
    .option('--concurrency <slots>', 'how many claims to run at once (default: 16)', readCount)
    .option('--grace <duration>', 'how long a stop lets running handlers finish (default: 20s)')
    .option('--no-migrate', 'refuse a schema that is not up to date instead of migrating it')
    .action(async (flags: Flags) => {
      const workflows = await loadWorkflows(flags.code)
      const { createWorker } = await import('../../index.ts')
      const worker = createWorker({
        connectionString: connectionStringOf(flags),
        schema: flags.schema,
        migrate: flags.migrate ? 'auto' : 'verify',
        workflows,
        concurrency: flags.concurrency,
        grace: flags.grace,
        handleSignals: true,
        logger: terminalLogger(),
      })
      await worker.start()
      await worker.done
      // What a handler that never settled still holds open must not hold the process.
      process.exit(0)
    })
}

export function readCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, 1 or more.')
}
