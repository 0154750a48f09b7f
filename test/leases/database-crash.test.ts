import { expect, test, vi } from 'vitest'
import { forkWorker } from '../support/fork-worker.ts'
import { HandClient } from '../support/variant.ts'
import { useCluster } from '../support/use-cluster.ts'
import { openClient } from '../support/worker.ts'
import { stays } from './forked-workflows.ts'

const cluster = useCluster()

/** Those that have their locks in the server's present life. */
async function presentWorkers(): Promise<number | undefined> {
  const session = new HandClient(cluster.connectionString)
  await session.connect()
  try {
    const { rows } = await session.query<{ present: number }>(
      `select count(*)::int as present from holdfast.workers
       where ended_at is null and postmaster_started_at = pg_postmaster_start_time()`,
    )
    return rows[0]?.present
  } finally {
    await session.end()
  }
}

test('LEASE-02: a handler during which the server crashes twice runs once, in the attempt it was in', async () => {
  const module = new URL('forked-workflows.ts', import.meta.url)
  const workers = [
    await forkWorker(cluster, { module, concurrency: 1 }),
    await forkWorker(cluster, { module }),
  ] as const
  const client = openClient(cluster)
  const started = await client.start(stays)
  const holder = await Promise.any(workers.map((worker) => worker.hear('entered', started.id).then(() => worker)))
  for (let crash = 0; crash < 2; crash += 1) {
    await cluster.stop('immediate')
    await cluster.start()
    // Both are back: they hold their locks and have said so under the server's new life.
    await vi.waitFor(async () => expect(await presentWorkers()).toBe(2), 10_000)
  }
  holder.order('go')
  expect(await client.result(started)).toBe(1)
  expect(workers.flatMap((worker) => worker.told.map(({ word, attempt }) => [word, attempt]))).toEqual([['entered', 1]])
  expect(workers.every((worker) => worker.isAlive)).toBe(true)
})
