import type { Command } from 'commander'
import { auditLimits } from '../../db/limit-calls.ts'
import { verifySchema } from '../../db/migrate.ts'
import { parseDuration } from '../../model/duration.ts'
import { ArgumentError } from '../../model/errors.ts'
import { release } from '../../model/release.ts'
import { withConnection, withDatabase, type ConnectionFlags } from '../connection.ts'
import { printable, printJson } from '../show.ts'

interface Flags extends ConnectionFlags {
  readonly since?: string
  readonly json?: boolean
}

interface Audit {
  readonly at: string
  readonly workflows: readonly {
    readonly workflow: string
    readonly since: string
    readonly claims: number
    readonly removedUntil: string | null
  }[]
  readonly violations: readonly {
    readonly workflow: string
    readonly group: string | null
    readonly kind: 'concurrency' | 'rate'
    readonly at: string
    readonly found: number
    readonly allowed: number
    readonly run: string
    readonly token: number
  }[]
}

export function addAudit(program: Command): void {
  withConnection(program.command('audit'))
    .description('recompute from the claims on record that no limit was exceeded')
    .option(
      '--since <duration or time>',
      'only since then, such as 1h or 2030-01-31T09:00:00Z (default: all of the record)',
    )
    .option('--json', 'print it as JSON')
    .action((flags: Flags) =>
      withDatabase(flags, async (database) => {
        await verifySchema(database, release)
        const audit = JSON.parse(await auditLimits(database, readSince(flags.since))) as Audit
        if (flags.json) printJson(audit)
        else printAudit(audit)
        if (audit.violations.length > 0) process.exitCode = 1
      }),
    )
}

function printAudit({ at, workflows, violations }: Audit): void {
  if (workflows.length === 0) console.log('No workflow on record has or had limits.')
  for (const { workflow, since, claims, removedUntil } of workflows) {
    const gap = removedUntil === null ? '' : `; runs that ended by ${removedUntil} are partly removed`
    console.log(printable(`${workflow}: ${claims} claims from ${since} to ${at}${gap}`))
  }
  for (const { workflow, group, kind, at: when, found, allowed, run, token } of violations) {
    const whose = group === null ? workflow : `${workflow} (${group})`
    console.log(
      printable(`${whose}: ${kind} of ${allowed} exceeded at ${when}, ${found} with claim ${token} of ${run}`),
    )
  }
  if (workflows.length > 0) console.log(violations.length === 0 ? 'Every limit was kept.' : 'Limits were exceeded.')
}

/** A length of time counts from the database's now. */
function readSince(text: string | undefined): { since?: string; lastMs?: number } {
  if (text === undefined) return {}
  if (!/^\d{4}-/.test(text)) return { lastMs: parseDuration(text, '--since') }
  const time = new Date(text)
  if (!Number.isNaN(time.getTime())) return { since: time.toISOString() }
  throw new ArgumentError(`"${text}" is no time.`, {
    field: '--since',
    remedy: 'Give a length of time such as 1h, or a time such as 2030-01-31T09:00:00Z.',
  })
}
