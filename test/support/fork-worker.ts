import { afterEach } from 'vitest'
import type { Address } from './database.ts'
import { fastTimings } from './fast-timings.ts'
import { ForkedWorker } from './forked-worker.ts'
import type { ProcessOptions } from './worker-process.ts'

export { ForkedWorker, type Exit } from './forked-worker.ts'

export interface ForkOptions extends Partial<Omit<ProcessOptions, 'connectionString' | 'module'>> {
  /** The module whose exported workflows the worker runs. */
  readonly module: URL
}

const forked = new Set<ForkedWorker>()

afterEach(async () => {
  await Promise.all([...forked].map((worker) => worker.kill()))
  forked.clear()
})

/** A worker in a process of its own, ready when this resolves, killed after the test at the latest. */
export async function forkWorker({ connectionString }: Address, options: ForkOptions): Promise<ForkedWorker> {
  const { module, concurrency = 16, graceMs = 1_000, timings = fastTimings, ...rest } = options
  const worker = new ForkedWorker({
    connectionString,
    module: module.href,
    concurrency,
    graceMs,
    timings,
    ...rest,
  })
  forked.add(worker)
  await worker.ready()
  return worker
}
