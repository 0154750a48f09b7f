import { join } from 'node:path'
import { systemClock } from '../../src/model/clock.ts'
import type { Address } from '../support/database.ts'
import { fastTimings } from '../support/fast-timings.ts'
import { ForkedWorker } from '../support/forked-worker.ts'
import type { Told } from '../support/tell.ts'

/** One worker process, from its start to its end, and what the plan wants of it. */
export interface Life {
  readonly address: Address
  readonly worker: ForkedWorker
  readonly bodyLog: string
  workerId: string | undefined
  /** `free`: it takes runs, and no fault is under way at it. */
  state: 'in reserve' | 'starting' | 'free' | 'taken' | 'leaving' | 'gone'
  /** Whether it may end now, and how. */
  intent: 'live' | 'be killed' | 'terminate'
  /** By the database's clock. */
  killedAt: number | undefined
}

export interface FleetOptions {
  readonly size: number
  readonly concurrency: number
  readonly folder: string
  /** The module whose workflows the next worker runs. Default: the voyages. */
  readonly module?: () => URL
  /** Where the next worker finds the database. */
  readonly address: () => Promise<Address>
  /** Resolves when a worker may start, which it does only where there is a server. Default: at once. */
  readonly mayStart?: () => Promise<void>
  readonly onReady?: (life: Life) => Promise<void>
  readonly onTold?: (told: Told, life: Life) => void
}

const voyages = new URL('workflows.ts', import.meta.url)
/** What anything may take on a busy machine. */
const patienceMs = 300_000
const reserveSize = 2
const glanceMs = 10

/** So many workers at so many places: whoever leaves is replaced at once, by a process that waits for it. */
export class Fleet {
  /** All there ever were. */
  readonly lives: Life[] = []
  /** How those ended that ended otherwise than the plan had it. */
  readonly exits: string[] = []
  readonly #options: FleetOptions
  readonly #present: (Life | undefined)[] = []
  readonly #reserve: Promise<Life>[] = []
  #isOver = false

  constructor(options: FleetOptions) {
    this.#options = options
  }

  /** Resolves when every place has a worker that takes runs. */
  async start(): Promise<void> {
    for (let spare = 0; spare < reserveSize; spare += 1) this.#reserve.push(this.#launch())
    await Promise.all(Array.from({ length: this.#options.size }, (_, place) => this.#fill(place)))
    await this.whole()
  }

  /**
   * A worker that takes runs, at this place or the next that has one; taken until `free` or replaced. There must be
   * another one, for who would take over its runs?
   */
  async take(place: number): Promise<Life | undefined> {
    let found: Life | undefined
    await this.#until(() => {
      if (this.#present.filter((life) => life?.state === 'free').length < 2) return false
      const turned = [...this.#present.slice(place), ...this.#present.slice(0, place)]
      found = turned.find((life) => life?.state === 'free')
      return found !== undefined
    })
    if (found) found.state = 'taken'
    return found
  }

  get ready(): number {
    return this.#present.filter((life) => life?.state === 'free' || life?.state === 'taken').length
  }

  free(life: Life): void {
    if (life.state === 'taken') life.state = 'free'
  }

  /** It is to end; another takes its place at once. */
  replace(life: Life, intent: 'be killed' | 'terminate'): void {
    life.intent = intent
    life.state = 'leaving'
    this.#refill(life)
  }

  /** Resolves when every place has a worker that takes runs. */
  async whole(): Promise<void> {
    await this.#until(() => this.#present.every((life) => life?.state === 'free' || life?.state === 'taken'))
  }

  /** SIGTERM, and its good end. */
  async terminate(life: Life): Promise<void> {
    const hung = systemClock.after(patienceMs, () => {
      this.exits.push(`worker ${life.workerId} did not end ${patienceMs} ms after SIGTERM`)
      life.intent = 'be killed'
      void life.worker.kill()
    })
    await life.worker.terminate()
    hung.cancel()
  }

  /** Ends all that are left, in good order. */
  async stop(): Promise<void> {
    this.#isOver = true
    for (const spare of this.#reserve) {
      const life = await spare
      life.intent = 'be killed'
      await life.worker.kill()
    }
    await this.#until(() => this.#present.every((life) => life?.state !== 'starting'))
    const left = this.lives.filter(({ worker }) => worker.isAlive)
    await Promise.all(
      left.map(async (life) => {
        life.worker.thaw()
        if (life.intent === 'live') life.intent = 'terminate'
        await this.terminate(life)
      }),
    )
  }

  #refill(life: Life): void {
    const place = this.#present.indexOf(life)
    if (place < 0 || this.#isOver) return
    this.#present[place] = undefined
    void this.#fill(place)
  }

  async #fill(place: number): Promise<void> {
    this.#reserve.push(this.#launch())
    const life = await (this.#reserve.shift() as Promise<Life>)
    await this.#options.mayStart?.()
    this.#present[place] = life
    life.state = 'starting'
    life.worker.order('start')
    await this.#welcome(life)
  }

  async #launch(): Promise<Life> {
    const { folder, concurrency, module = () => voyages } = this.#options
    const address = await this.#options.address()
    const bodyLog = join(folder, `bodies-${this.lives.length}.jsonl`)
    const worker = new ForkedWorker({
      connectionString: address.connectionString,
      module: module().href,
      concurrency,
      graceMs: 1_000,
      timings: fastTimings,
      bodyLog,
      isReserve: true,
    })
    const life: Life = {
      address,
      worker,
      bodyLog,
      workerId: undefined,
      state: 'in reserve',
      intent: 'live',
      killedAt: undefined,
    }
    this.lives.push(life)
    void worker.ended.then(({ code, signal }) => this.#bury(life, code, signal))
    return life
  }

  async #welcome(life: Life): Promise<void> {
    try {
      life.workerId = await life.worker.ready()
      life.worker.listen((report) => {
        if (report.type === 'told') this.#options.onTold?.(report.told, life)
      })
      await this.#options.onReady?.(life)
      if (life.state === 'starting') life.state = 'free'
    } catch {
      // Its end is on record by itself.
    }
  }

  #bury(life: Life, code: number | null, signal: NodeJS.Signals | null): void {
    life.state = 'gone'
    const isAsked = life.intent === 'be killed' || (life.intent === 'terminate' && code === 0)
    if (isAsked) return
    const { workerId, worker } = life
    this.exits.push(`worker ${workerId} ended with ${signal ?? code}, asked to ${life.intent}: ${worker.lastWords}`)
    this.#refill(life)
  }

  async #until(condition: () => boolean): Promise<void> {
    const end = systemClock.monotonic() + patienceMs
    while (!condition() && systemClock.monotonic() < end) await systemClock.sleep(glanceMs)
  }
}
