/** What a worker process that has nothing to do holds of the memory, beside the sleepers and without. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Load } from './peers/peer.ts'
import type { SideName, Sides } from './waits-calls.ts'
import { WorkerHandle } from './worker-handle.ts'

const slots = 64
const idleMs = 5_000

/** In bytes. Both are there at the same time. */
export async function playIdle({ full, empty }: Sides): Promise<Readonly<Record<SideName, number>>> {
  const [fullBytes, emptyBytes] = await Promise.all([idleBytes(full), idleBytes(empty)])
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
