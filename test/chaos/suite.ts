import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/model/clock.ts'
import type { Stage } from './stage.ts'

export interface SuiteOptions {
  readonly seed: number
  readonly isShort: boolean
  /** False: workers are found dead by their leases alone. */
  readonly hasLocks: boolean
  readonly log: (line: string) => void
}

export interface SuiteResult {
  readonly figures: Readonly<Record<string, unknown>>
  readonly counterExamples: readonly string[]
  readonly isGood: boolean
  /** All that the verdict was reached by. */
  readonly evidence: object
}

const glanceMs = 100
const patienceMs = 30_000

/** Does something at an instant of the process's clock. */
export async function at<T>(instant: number, work: () => Promise<T>): Promise<T> {
  await systemClock.sleep(Math.max(0, instant - systemClock.monotonic()))
  return await work()
}

/** Resolves when every run has ended, or when none has ended for so long. */
export async function whenEnded({ pool }: Stage): Promise<void> {
  let left = Infinity
  for (let end = systemClock.monotonic() + patienceMs; systemClock.monotonic() < end;) {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::integer as count from holdfast.runs where state not in ('done', 'failed', 'cancelled')`,
    )
    const count = rows[0]?.count ?? 0
    if (count === 0) return
    if (count < left) end = systemClock.monotonic() + patienceMs
    left = count
    await systemClock.sleep(glanceMs)
  }
}

/** How much there is of something on average, from now until it is stopped. */
export class Mean {
  readonly #read: () => number
  readonly #over = new AbortController()
  #sum = 0
  #count = 0

  constructor(read: () => number) {
    this.#read = read
    void this.#watch()
  }

  stop(): number {
    this.#over.abort()
    return Math.round((this.#sum / Math.max(1, this.#count)) * 10) / 10
  }

  async #watch(): Promise<void> {
    while (!this.#over.signal.aborted) {
      this.#sum += this.#read()
      this.#count += 1
      await systemClock.sleep(glanceMs, this.#over.signal)
    }
  }
}

/** For whoever wants to know more of what broke. Answers the file. */
export async function keepEvidence(evidence: object): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'holdfast-evidence-')), 'evidence.json')
  await writeFile(file, JSON.stringify(evidence))
  return file
}
