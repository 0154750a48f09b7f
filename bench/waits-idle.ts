/** What a worker process that has nothing to do holds of the memory, beside the sleepers and without. */
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from './measure.ts'
import type { Load } from './peers/peer.ts'
import type { SideName, Sides } from './waits-calls.ts'
import { WorkerHandle } from './worker-handle.ts'

const slots = 64
const idleMs = 5_000
/** On each side. One process holds up to a tenth more or less than another that does the same. */
const workers = 4

/** In bytes, the median of either side's workers. All are there at the same time. */
export async function playIdle({ full, empty }: Sides): Promise<Readonly<Record<SideName, number>>> {
  const medianOf = async (connectionString: string): Promise<number> => {
    const held = await Promise.all(Array.from({ length: workers }, () => idleBytes(connectionString)))
    return median(held) ?? Number.NaN
  }
  const [fullBytes, emptyBytes] = await Promise.all([medianOf(full), medianOf(empty)])
  return { full: fullBytes, empty: emptyBytes }
}

async function idleBytes(connectionString: string): Promise<number> {
  const load: Load = { work: 'W0', steps: 0, slots, runs: 0, connectionString }
  const worker = new WorkerHandle(undefined)
  try {
    await worker.load('waits', load)
    await worker.start()
    await sleep(idleMs)
    const bytes = await worker.residentBytes()
    await worker.stop()
    return bytes
  } finally {
    await worker.kill()
  }
}
