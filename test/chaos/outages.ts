import { systemClock } from '../../src/model/clock.ts'
import { Proxy } from '../support/tcp-proxy.ts'
import { check } from './checker.ts'
import { gather, type Evidence } from './evidence.ts'
import { Fleet } from './fleet.ts'
import { outagesForms, planOutages, type OutagesPlan, type PlannedCut, type Restart } from './outages-plan.ts'
import { quantile } from './recoveries.ts'
import { at, whenEnded, type SuiteOptions, type SuiteResult } from './suite.ts'
import { openStage, type Stage } from './stage.ts'
import { writingStatements } from './statements.ts'
import { Port } from './starts.ts'
import { Turns } from './turns.ts'

/** How long to wait for a handler's end, or for a statement that is to be cut. */
const patienceMs = 10_000
const glanceMs = 50

/** Restarts the server and cuts connections after commits while runs are started and worked at. No worker is killed. */
export async function runOutages(options: SuiteOptions): Promise<SuiteResult> {
  const { seed, isShort, log } = options
  const form = outagesForms[isShort ? 'short' : 'full']
  const plan = planOutages(seed, form)
  const stage = await openStage()
  const outages = new Outages(stage, form.workers)
  try {
    const began = systemClock.monotonic()
    await outages.start()
    const { restarts, cuts, groups } = plan
    log(`${form.workers} workers; ${form.runs} runs, ${restarts.length} restarts, ${cuts.length} cuts`)
    const startedAt = systemClock.monotonic()
    await Promise.all([
      ...groups.map((group) => at(startedAt + group.at, () => outages.port.start(group))),
      ...restarts.map((restart) => at(startedAt + restart.at, () => outages.restart(restart))),
      ...cuts.map((cut) => at(startedAt + cut.at, () => outages.cut(cut))),
    ])
    log('The outages are over; the rest of the runs end.')
    await whenEnded(stage)
    await outages.stop()
    const evidence = await outages.evidence(plan, form.runs)
    return report(options, outages, evidence, systemClock.monotonic() - began)
  } finally {
    await outages.close()
    await stage.close()
  }
}

class Outages {
  readonly port: Port
  readonly returnedAt: number[] = []
  /** Name of a statement -> cuts after it. */
  readonly cutsMade = new Map<string, number>(writingStatements.map(({ name }) => [name, 0]))
  readonly #fleet: Fleet
  readonly #stage: Stage
  readonly #clientProxy: Proxy
  readonly #proxies: Proxy[] = []
  /** Workers that were let go. */
  readonly #relieved: string[] = []
  /** Restarts of the server, and starts of workers: those give up if there is no server. */
  readonly #turns = new Turns()
  /** Resolves when there is a server. */
  #isUp: Promise<void> = Promise.resolve()
  #onEnding: (() => void) | undefined

  constructor(stage: Stage, size: number) {
    this.#stage = stage
    this.#clientProxy = new Proxy(stage.cluster)
    this.#proxies.push(this.#clientProxy)
    this.port = new Port(this.#clientProxy)
    this.#fleet = new Fleet({
      size,
      concurrency: 16,
      folder: stage.folder,
      address: async () => {
        const proxy = new Proxy(stage.cluster)
        this.#proxies.push(proxy)
        await proxy.listen()
        return proxy
      },
      mayStart: () => this.#isUp,
      onTold: ({ word }) => {
        if (word === 'ending') this.#onEnding?.()
      },
    })
  }

  async start(): Promise<void> {
    await this.#clientProxy.listen()
    await this.#fleet.start()
  }

  async restart({ mode, downMs, isAtEnd }: Restart): Promise<void> {
    await this.#turns.take(async () => {
      if (isAtEnd) await this.#nextEnding()
      await (this.#isUp = this.#bounce(mode, downMs))
      const returnedAt = await this.#stage.now()
      this.returnedAt.push(returnedAt)
      await this.#nextSettle(returnedAt)
    })
  }

  /** Lets the next such statement be committed, and nobody hear of it. */
  async cut(planned: PlannedCut): Promise<void> {
    const { of } = planned.statement
    if (of === 'client') await this.#arm(this.#clientProxy, planned)
    else if (of === 'leaving worker') await this.#turns.take(() => this.#relieve(planned))
    else await this.#cutWorker(planned)
  }

  async stop(): Promise<void> {
    for (const proxy of this.#proxies) proxy.mend()
    await this.#fleet.stop()
  }

  async close(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.close()))
  }

  async evidence({ restarts, cuts }: OutagesPlan, runs: number): Promise<Evidence> {
    const { lives, exits } = this.#fleet
    const made = [...this.cutsMade.values()].reduce((sum, count) => sum + count, 0)
    return {
      ...(await gather(
        this.#stage.pool,
        lives.map(({ bodyLog }) => bodyLog),
      )),
      starts: this.port.acknowledged,
      falseConflicts: this.port.falseConflicts,
      exits,
      relieved: this.#relieved,
      faults: {
        restarts: { planned: restarts.length, done: this.returnedAt.length },
        cuts: { planned: cuts.length, done: made },
        starts: { planned: runs, done: new Set(this.port.acknowledged.map(({ index }) => index)).size },
      },
    }
  }

  async #bounce(mode: Restart['mode'], downMs: number): Promise<void> {
    const { cluster } = this.#stage
    await cluster.stop(mode)
    await systemClock.sleep(downMs)
    await cluster.start()
  }

  /** The next outage is to meet workers that work. */
  async #nextSettle(after: number): Promise<void> {
    const end = systemClock.monotonic() + patienceMs
    const isSettled = async (): Promise<boolean> => {
      const { rowCount } = await this.#stage.pool.query(
        `select from holdfast.all_claims where ended_at > to_timestamp($1 / 1000.0) and outcome <> 'lease_lost' limit 1`,
        [after],
      )
      return rowCount === 1
    }
    while (!(await isSettled()) && systemClock.monotonic() < end) await systemClock.sleep(glanceMs)
  }

  async #cutWorker(planned: PlannedCut): Promise<void> {
    await this.#isUp
    const life = await this.#fleet.take(planned.place)
    if (!life) return
    // Others may cut there too.
    this.#fleet.free(life)
    const proxy = life.address as Proxy
    const isCut = this.#arm(proxy, planned)
    // It registers anew only when its session is.
    if (planned.statement.name === 'register_worker') void proxy.cut(/^P[^]*\.renew_leases\(/, { when: 'before' })
    await Promise.race([isCut, life.worker.ended])
  }

  /** A worker leaves in good order and another takes its place; its last words are cut. */
  async #relieve(planned: PlannedCut): Promise<void> {
    const life = await this.#fleet.take(planned.place)
    if (!life) return
    this.#relieved.push(life.workerId ?? '')
    const isCut = this.#arm(life.address as Proxy, planned)
    this.#fleet.replace(life, 'terminate')
    await Promise.all([Promise.race([isCut, life.worker.ended]), this.#fleet.terminate(life), this.#fleet.whole()])
  }

  async #arm(proxy: Proxy, { statement: { name, pattern } }: PlannedCut): Promise<void> {
    const act = (): void => void this.cutsMade.set(name, (this.cutsMade.get(name) ?? 0) + 1)
    await Promise.race([proxy.cut(pattern, { when: 'after', act }), systemClock.sleep(patienceMs)])
  }

  async #nextEnding(): Promise<void> {
    const ending = new Promise<void>((resolve) => void (this.#onEnding = resolve))
    await Promise.race([ending, systemClock.sleep(patienceMs)])
    this.#onEnding = undefined
  }
}

function report(
  { seed, isShort }: SuiteOptions,
  { returnedAt, cutsMade, port }: Outages,
  evidence: Evidence,
  ms: number,
): SuiteResult {
  const { broken, finished, bodiesRepeated, counterExamples, isGood } = check(evidence)
  const waits = recoveryMs(evidence, returnedAt)
  return {
    figures: {
      suite: 'outages',
      seed,
      form: isShort ? 'short' : 'full',
      runs: evidence.runs.length,
      starts: port.acknowledged.length,
      finished,
      restarts: returnedAt.length,
      cuts: evidence.faults['cuts']?.done ?? 0,
      cuts_by_statement: Object.fromEntries(cutsMade),
      ...broken,
      double: broken.kept_twice,
      bodies_repeated: bodiesRepeated,
      recovery_ms: { p50: quantile(waits, 0.5), max: quantile(waits, 1) },
      seconds: Math.round(ms / 1_000),
    },
    counterExamples,
    isGood,
    evidence,
  }
}

/** From each return of the server until the next claim was settled, sorted. */
function recoveryMs({ claims }: Evidence, returnedAt: readonly number[]): number[] {
  const settledAt = claims
    .filter(({ outcome, endedAt }) => endedAt !== null && outcome !== 'lease_lost')
    .map(({ endedAt }) => endedAt ?? 0)
    .toSorted((a, b) => a - b)
  return returnedAt
    .flatMap((returned) => {
      const next = settledAt.find((settled) => settled > returned)
      return next === undefined ? [] : [next - returned]
    })
    .toSorted((a, b) => a - b)
}
