import { listed, type Check } from '../support/print.ts'
import { limits } from './answer-question.ts'
import { tenants } from './questions.ts'
import type { Report, RunOutcome } from './report.ts'

const { limit, perGroup } = limits.concurrency
const rate = limits.rate.perGroup
const [greedy, ...small] = tenants

/** Round-robin, the small ones begin as often as the greedy one. First come, first served, it would have begun nearly all. */
const greedyShare = 1 / 2

/** What the example must have shown. One claim that does not hold makes it exit with 1. */
export function judge({ runs, bursts, audit, steps, recovery, calls, mostAtOnce }: Report): Check[] {
  const count = tenants.reduce((sum, tenant) => sum + tenant.count, 0)
  const done = runs.filter((run) => run.state === 'done' && run.answer)
  const atOnce = [...mostAtOnce.byTenant]
  const before = small.map(({ name }) => ({ name, begun: greedyBegunBefore(lastBegin(runs, name), runs) }))
  const refused = calls.filter((call) => call.status === 429)
  const snoozes = runs.reduce((sum, run) => sum + run.snoozes, 0)
  const astray = runs.filter((run) => !isSnoozedForEach429(run, refused)).map((run) => run.id)
  const counted = runs.filter((run) => run.attempt !== 1 + run.lost).map((run) => run.id)
  return [
    {
      holds: runs.length === count && done.length === count,
      claim: 'Every question has its answer',
      found: `${done.length} of ${count}`,
    },
    {
      holds: atOnce.every(([, most]) => most <= perGroup) && mostAtOnce.ofAll <= limit,
      claim: `Never more than ${perGroup} calls of a tenant at the model, nor ${limit} of all, kill or no kill`,
      found: `${atOnce.map(([name, most]) => `${name} ${most}`).join(', ')}, ${mostAtOnce.ofAll} of all`,
    },
    {
      holds: bursts.length === tenants.length && bursts.every(({ most }) => most <= rate.limit),
      claim: `No tenant began more than ${rate.limit} times in any ${rate.per / 1000} s`,
      found: bursts.map(({ tenant, most }) => `${tenant} ${most}`).join(', '),
    },
    {
      holds: audit.workflows.length === 1 && audit.violations.length === 0,
      claim: 'workflow audit finds that all limits were kept',
      found: `${audit.workflows[0]?.claims ?? 0} claims, ${audit.violations.length} above a limit`,
    },
    {
      holds: before.every(({ begun }) => begun <= greedy!.count * greedyShare),
      claim: `${greedy!.name}, who came first and asked most, held up nobody`,
      found: before.map(({ name, begun }) => `all of ${name} began after ${begun} of ${greedy!.count}`).join(', '),
    },
    {
      holds: refused.length > 0 && astray.length === 0,
      claim: 'Every 429 that reached its run became a snooze',
      found: listed(astray) || `${refused.length} times 429, ${snoozes} snoozes`,
    },
    {
      holds: counted.length === 0,
      claim: 'No snooze cost an attempt',
      found: listed(counted) || 'only claims that died with their worker were counted',
    },
    {
      holds: steps.recalled > 0,
      claim: 'Finished steps were recalled, not run again',
      found: `${steps.recalled} steps`,
    },
    {
      holds: recovery !== undefined && recovery.takenOver === recovery.heldRuns,
      claim: 'The other worker took over every run of the killed one',
      found: recovery ? `${recovery.takenOver} of ${recovery.heldRuns} runs` : 'no worker was killed',
    },
  ]
}

/** A claim that died with its worker may have got a 429 and not lived to say so. */
function isSnoozedForEach429(run: RunOutcome, refused: Report['calls']): boolean {
  const got = refused.filter((call) => call.runId === run.id).length
  return run.snoozes <= got && got <= run.snoozes + run.lost
}

function lastBegin(runs: readonly RunOutcome[], tenant: string): Date {
  const own = runs.filter((run) => run.tenant === tenant)
  return new Date(Math.max(...own.map((run) => run.firstBeganAt.getTime())))
}

function greedyBegunBefore(at: Date, runs: readonly RunOutcome[]): number {
  return runs.filter((run) => run.tenant === greedy!.name && run.firstBeganAt < at).length
}
