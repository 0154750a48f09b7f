import { systemClock } from '../../src/model/clock.ts'
import { readBodyLog } from '../support/body-log.ts'
import { check } from './checker.ts'
import { gather, type Evidence } from './evidence.ts'
import { Fleet, type Life } from './fleet.ts'
import { describeRun, indexEvidence } from './indexed.ts'
import { recoveries, recoveryFigures } from './recoveries.ts'
import { at, Mean, whenEnded, type SuiteOptions, type SuiteResult } from './suite.ts'
import { planStorm, stormForms, type StormFault } from './storm-plan.ts'
import { openStage, type Stage } from './stage.ts'
import { Port } from './starts.ts'
import { kill, pointPatienceMs, terminate } from './strikes.ts'

const glanceMs = 10

/** Kills, freezes and terminates workers while runs are started and worked at. */
export async function runStorm(options: SuiteOptions): Promise<SuiteResult> {
  const { seed, isShort, hasLocks, log } = options
  const form = stormForms[isShort ? 'short' : 'full']
  const { faults, groups } = planStorm(seed, form)
  const stage = await openStage()
  try {
    const began = systemClock.monotonic()
    const storm = new Storm(stage, form.workers, hasLocks)
    await storm.fleet.start()
    log(`${form.workers} workers; ${form.runs} runs and ${faults.length} faults in ${form.stretchMs / 1_000} s`)
    const startedAt = systemClock.monotonic()
    const ready = new Mean(() => storm.fleet.ready)
    await Promise.all([
      ...groups.map((group) => at(startedAt + group.at, () => storm.port.start(group))),
      ...faults.map((fault) => at(startedAt + fault.at, () => storm.strike(fault))),
    ])
    const workersReady = ready.stop()
    log('The storm is over; the rest of the runs end.')
    await whenEnded(stage)
    await storm.fleet.stop()
    const evidence = await storm.evidence(faults, form.runs)
    return report(options, storm, evidence, { workersReady, ms: systemClock.monotonic() - began })
  } finally {
    await stage.close()
  }
}

class Storm {
  readonly fleet: Fleet
  readonly port: Port
  readonly #stage: Stage
  readonly #done = { kills: 0, stops: 0, terms: 0 }

  constructor(stage: Stage, size: number, hasLocks: boolean) {
    this.#stage = stage
    this.port = new Port(stage.cluster)
    this.fleet = new Fleet({
      size,
      // Room for all there is, so that a run waits for its recovery and not for a slot.
      concurrency: 64,
      folder: stage.folder,
      address: () => Promise.resolve(stage.cluster),
      onReady: hasLocks ? async () => {} : (life) => this.#hideLocks(life),
    })
  }

  async strike(fault: StormFault): Promise<void> {
    const life = await this.fleet.take(fault.place)
    if (!life) return
    if (fault.kind === 'kills') {
      if (await kill(this.fleet, life, fault.point, () => this.#stage.now())) this.#done.kills += 1
    } else if (fault.kind === 'stops') {
      await this.#freeze(life, fault)
    } else {
      await terminate(this.fleet, life)
      this.#done.terms += 1
    }
  }

  async evidence(faults: readonly StormFault[], runs: number): Promise<Evidence> {
    const { lives, exits } = this.fleet
    const planned = (kind: StormFault['kind']): { planned: number; done: number } => ({
      planned: faults.filter((fault) => fault.kind === kind).length,
      done: this.#done[kind],
    })
    return {
      ...(await gather(
        this.#stage.pool,
        lives.map(({ bodyLog }) => bodyLog),
      )),
      starts: this.port.acknowledged,
      falseConflicts: this.port.falseConflicts,
      exits,
      faults: {
        kills: planned('kills'),
        stops: planned('stops'),
        terms: planned('terms'),
        starts: { planned: runs, done: new Set(this.port.acknowledged.map(({ index }) => index)).size },
      },
    }
  }

  async #freeze(life: Life, { point, ms }: Extract<StormFault, { kind: 'stops' }>): Promise<void> {
    if (point) {
      life.worker.arm(point)
      await this.#whenFrozen(life)
      life.worker.disarm()
    }
    life.worker.freeze()
    await systemClock.sleep(ms)
    life.worker.thaw()
    if (life.worker.isAlive) this.#done.stops += 1
    this.fleet.free(life)
  }

  /** Resolves when the process has frozen itself, or will not do so soon. */
  async #whenFrozen({ bodyLog }: Life): Promise<void> {
    const end = systemClock.monotonic() + pointPatienceMs
    const isFrozen = (): boolean => readBodyLog(bodyLog).at(-1)?.did === 'freeze'
    while (!isFrozen() && systemClock.monotonic() < end) await systemClock.sleep(glanceMs)
  }

  /** Then nobody can tell by its locks that it is dead: its leases have to run out. */
  async #hideLocks({ workerId }: Life): Promise<void> {
    await this.#stage.pool.query('update holdfast.workers set postmaster_started_at = null where id = $1', [workerId])
  }
}

function report(
  { seed, isShort, hasLocks, log }: SuiteOptions,
  { fleet, port }: Storm,
  evidence: Evidence,
  { workersReady, ms }: { readonly workersReady: number; readonly ms: number },
): SuiteResult {
  const verdict = check(evidence)
  const { broken, finished, bodiesRepeated, refusedStale, memos, counterExamples } = verdict
  const recovered = recoveries(evidence, fleet.lives)
  const slowest = recovered.at(-1)
  if (slowest) {
    const killedAt = new Date(slowest.killedAt).toISOString().slice(11, 23)
    log(`The slowest recovery, from the kill at ${killedAt}: ${describeRun(indexEvidence(evidence), slowest.run)}`)
  }
  const isProof = refusedStale > 0
  const { attempts_counted_for_living: _, ...figures } = broken
  return {
    figures: {
      suite: 'storm',
      seed,
      form: isShort ? 'short' : 'full',
      locks: hasLocks,
      runs: evidence.runs.length,
      starts: port.acknowledged.length,
      finished,
      kills: evidence.faults['kills']?.done ?? 0,
      stops: evidence.faults['stops']?.done ?? 0,
      terms: evidence.faults['terms']?.done ?? 0,
      ...figures,
      bodies_repeated: bodiesRepeated,
      refused_stale: refusedStale,
      memos,
      ...recoveryFigures(recovered),
      workers_ready: workersReady,
      seconds: Math.round(ms / 1_000),
    },
    counterExamples: isProof
      ? counterExamples
      : [...counterExamples, 'refused_stale: no superseded claim tried to write.'],
    isGood: verdict.isGood && isProof,
    evidence,
  }
}
