import { systemClock } from '../../src/model/clock.ts'
import { Fleet } from './fleet.ts'
import { InvariantWatch } from './invariant-watch.ts'
import { checkLimits, type LimitsVerdict } from './limits-checker.ts'
import { gatherMoves, type LimitsEvidence } from './limits-evidence.ts'
import { Operator } from './limits-operator.ts'
import { limitsForms, planLimits, type LimitsFault, type LimitsForm, type LimitsPlan } from './limits-plan.ts'
import { LimitsPort } from './limits-port.ts'
import { openStage, type Stage } from './stage.ts'
import { kill, terminate } from './strikes.ts'
import { at, whenEnded, type SuiteOptions, type SuiteResult } from './suite.ts'

/** Slots of a worker. All workers but two have more than the limits let run, so that a run waits for a limit alone. */
const concurrency = 64
const least = { utilisation: 0.9, rateUsed: 0.95 }
const betweenLooksMs = { short: 200, full: 1_000 }

const releases = [1, 2].map((release) => new URL(`limits-release-${release}.ts`, import.meta.url)) as [URL, URL]

/** Starts runs of limited workflows, and kills workers, cancels runs and changes the limits meanwhile. */
export async function runLimits(options: SuiteOptions): Promise<SuiteResult> {
  const { seed, isShort, log } = options
  const form = limitsForms[isShort ? 'short' : 'full']
  const plan = planLimits(seed, form)
  const stage = await openStage()
  const siege = new Siege(stage, form, seed, betweenLooksMs[isShort ? 'short' : 'full'])
  try {
    const began = systemClock.monotonic()
    await siege.fleet.start()
    const { faults, bursts, deployAt } = plan
    log(`${form.workers} workers; ${form.runs} runs and ${faults.length} faults in ${form.stretchMs / 1_000} s`)
    const startedAt = systemClock.monotonic()
    await Promise.all([
      ...bursts.map((burst) => at(startedAt + burst.at, () => siege.port.start(burst))),
      ...faults.map((fault) => at(startedAt + fault.at, () => siege.strike(fault))),
      at(startedAt + deployAt, () => siege.deploy()),
    ])
    log('The faults are over; the rest of the runs end.')
    await whenEnded(stage)
    await siege.stop()
    const evidence = await siege.evidence(plan)
    return report(options, siege, evidence, systemClock.monotonic() - began)
  } finally {
    await siege.close()
    await stage.close()
  }
}

class Siege {
  readonly fleet: Fleet
  readonly port: LimitsPort
  readonly watch: InvariantWatch
  readonly done = { kills: 0, terms: 0, cancels: 0, changes: 0, pauses: 0 }
  readonly #stage: Stage
  readonly #form: LimitsForm
  readonly #operator: Operator
  #hasDeployed = false
  #launched = 0

  constructor(stage: Stage, form: LimitsForm, seed: number, pauseMs: number) {
    this.#stage = stage
    this.#form = form
    this.port = new LimitsPort(stage.cluster, seed)
    this.#operator = new Operator(stage.pool)
    this.watch = new InvariantWatch(stage.pool, pauseMs)
    this.fleet = new Fleet({
      size: form.workers,
      concurrency,
      folder: stage.folder,
      address: () => Promise.resolve(stage.cluster),
      // Once the newer release is there, both are: a process of the older may even start after it.
      module: () => releases[this.#hasDeployed ? (this.#launched++ % 2 === 0 ? 1 : 0) : 0],
    })
  }

  deploy(): Promise<void> {
    this.#hasDeployed = true
    this.port.deploy()
    return Promise.resolve()
  }

  async strike(fault: LimitsFault): Promise<void> {
    if (await this.#do(fault)) this.done[fault.kind] += 1
    await this.watch.look(JSON.stringify(fault))
  }

  async stop(): Promise<void> {
    await this.watch.stop()
    await this.fleet.stop()
  }

  async close(): Promise<void> {
    await this.watch.stop()
    await this.port.close()
  }

  async evidence({ faults, bursts }: LimitsPlan): Promise<LimitsEvidence> {
    const planned = (kind: LimitsFault['kind']): number => faults.filter((fault) => fault.kind === kind).length
    const committed = bursts.filter(({ held }) => held?.isCommitted !== false)
    const { acknowledged } = this.port
    return {
      ...(await gatherMoves(this.#stage.pool)),
      acknowledged,
      said: this.#operator.said,
      brokenInvariants: this.watch.broken,
      slots: (this.#form.workers - 2) * concurrency,
      exits: this.fleet.exits,
      faults: {
        ...Object.fromEntries(
          Object.entries(this.done).map(([kind, done]) => [
            kind,
            { planned: planned(kind as LimitsFault['kind']), done },
          ]),
        ),
        starts: { planned: committed.reduce((sum, { hauls }) => sum + hauls.length, 0), done: acknowledged.length },
      },
    }
  }

  async #do(fault: LimitsFault): Promise<boolean> {
    if (fault.kind === 'cancels') {
      await this.port.cancel(fault.workflow, fault.count, fault.heldMs)
      return true
    }
    if (fault.kind === 'changes') {
      await this.#operator.change(fault.workflow, fault.limits)
      return true
    }
    if (fault.kind === 'pauses') {
      await this.#operator.pause(fault.workflow, fault.ms)
      return true
    }
    const life = await this.fleet.take(fault.place)
    if (!life) return false
    if (fault.kind === 'kills') return await kill(this.fleet, life, fault.point, () => this.#stage.now())
    await terminate(this.fleet, life)
    return true
  }
}

function report({ seed, isShort, log }: SuiteOptions, siege: Siege, evidence: LimitsEvidence, ms: number): SuiteResult {
  const verdict = checkLimits(evidence)
  const { broken, finished, slots, rates, longestStallMs, counterExamples } = verdict
  log(
    `Of each workflow's slots ${JSON.stringify(slots.each)}, and of its rate ${JSON.stringify(rates.each)}, was used.`,
  )
  const { concurrency_violations: overConcurrency, rate_violations: overRate, ...others } = broken
  // So short a stretch has too little backlog for its share to say much.
  const shortfalls = isShort ? [] : shortfallsOf(verdict)
  return {
    figures: {
      suite: 'limits',
      seed,
      form: isShort ? 'short' : 'full',
      runs: evidence.runs.length,
      finished,
      ...siege.done,
      concurrency_violations: overConcurrency,
      rate_violations: overRate,
      utilisation: slots.all,
      rate_used: rates.all,
      ...others,
      longest_stall_ms: longestStallMs,
      looks: siege.watch.looks,
      seconds: Math.round(ms / 1_000),
    },
    counterExamples: [...counterExamples, ...shortfalls],
    isGood: verdict.isGood && shortfalls.length === 0,
    evidence,
  }
}

function shortfallsOf({ slots, rates }: LimitsVerdict): string[] {
  return [
    ...((slots.all ?? 0) < least.utilisation ? [`utilisation: ${slots.all}, of at least ${least.utilisation}.`] : []),
    ...((rates.all ?? 0) < least.rateUsed ? [`rate_used: ${rates.all}, of at least ${least.rateUsed}.`] : []),
  ]
}
