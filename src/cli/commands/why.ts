import type { Command } from 'commander'
import type { OpenWait, Reason, Why } from '../../client/why.ts'
import { withClient, withConnection, type ConnectionFlags } from '../connection.ts'
import { printable, printJson } from '../show.ts'

interface Flags extends ConnectionFlags {
  readonly json?: boolean
}

export function addWhy(program: Command): void {
  withConnection(program.command('why'))
    .description('say why a run does not go on: its place in line, and what holds it back')
    .argument('<run>', 'its id')
    .option('--json', 'print it as JSON')
    .action((run: string, flags: Flags) =>
      withClient(flags, async (client) => {
        const why = await client.why(run)
        if (flags.json) printJson(why)
        else printWhy(why)
      }),
    )
}

function printWhy({ run, workflow, group, state, ahead, waiting, at, reasons }: Why): void {
  const place = ahead === undefined ? '' : `, place ${ahead + 1} of ${waiting}`
  console.log(printable(`${run} ${workflow}${group === undefined ? '' : ` (${group})`}: ${state}${place}`))
  for (const reason of reasons) for (const line of tell(reason, at)) console.log(printable(line))
}

function tell(reason: Reason, at: Date): readonly string[] {
  return tellings[reason.kind](reason as never, at)
}

type Tellings = {
  readonly [K in Reason['kind']]: (reason: Extract<Reason, { kind: K }>, at: Date) => readonly string[]
}

const tellings: Tellings = {
  ended: ({ state, at, failure, reason }) => [
    `It is ${state} since ${time(at)}${failure ? ` (${failure})` : ''}${because(reason)}.`,
  ],
  running: ({ since, worker, workerName, isDead }, at) => [
    `It runs for ${age(since, at)}, at ${workerName ?? worker ?? 'a worker'}${isDead ? ', which is gone; it is taken over' : ''}.`,
  ],
  scheduled: ({ until, after, reason }) => [`It is due at ${time(until)}, after a ${after}${because(reason)}.`],
  suspended: ({ until, waits }, at) =>
    waits.length === 0 ? [`It waits${until ? ` until ${time(until)}` : ''}.`] : waits.map((wait) => tellWait(wait, at)),
  paused: ({ since, by, reason }) => [
    `Its workflow was paused by ${by ?? 'somebody'} at ${time(since)}${because(reason)}. Resume it: workflow limits resume.`,
  ],
  no_worker: () => ['No worker that lives has its workflow.'],
  concurrency: ({ of, limit, live, holders }, at) => [
    `As many runs of its ${of} as may run at once do: ${live} of ${limit}.`,
    ...holders.map(
      ({ run, worker, workerName, since }) => `  ${run} for ${age(since, at)}, at ${workerName ?? worker}`,
    ),
  ],
  rate: ({ of, limit, perMs, opensAt }) => [
    `As many runs of its ${of} as may begin in ${perMs} ms have, ${limit}; the next may at ${time(opensAt)}.`,
  ],
  line: ({ ahead, waiting }) => [`${ahead} of the ${waiting} that wait in its line go before it.`],
  slots: ({ slots, running }) => [`The workers that have its workflow are busy: ${running} runs in ${slots} slots.`],
  due: ({ since }) => [`Nothing holds it back; it is due since ${time(since)}.`],
}

function tellWait({ step, kind, signal, child, reason, since, until }: OpenWait, at: Date): string {
  const end = until ? ` until ${time(until)}` : ''
  if (kind === 'sleep') return `It sleeps at "${step}"${end}.`
  const what = {
    signal: `the signal "${signal}"`,
    call: `the end of run ${child}`,
    park: `a person, at "${step}": ${reason}. Answer it: workflow unpark`,
  }[kind]
  return `It has waited ${age(since, at)}${end} for ${what}.`
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`
}

function time(at: Date): string {
  return at.toISOString()
}

function age(since: Date, at: Date): string {
  const seconds = Math.max(0, (at.getTime() - since.getTime()) / 1_000)
  if (seconds < 120) return `${seconds.toFixed(1)} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
