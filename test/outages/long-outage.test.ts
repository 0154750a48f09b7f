import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { startProxy } from '../support/proxy.ts'
import { openClient } from '../support/worker.ts'
import { staysBriefly } from '../leases/forked-workflows.ts'

let cluster: Cluster
const module = new URL('../leases/forked-workflows.ts', import.meta.url)

beforeAll(async () => {
  cluster = await startCluster()
  await migrateDatabase(cluster.connectionString)
})

afterAll(async () => {
  await cluster.remove()
})

const outages: readonly { readonly what: string; readonly isNetwork: boolean }[] = [
  { what: 'the server is down', isNetwork: false },
  { what: 'nobody reaches the server', isNetwork: true },
]

test.each(outages)(
  'OPS-03: while $what for longer than leases last no process ends, and no attempt is counted for what lived',
  { timeout: 60_000 },
  async ({ isNetwork }) => {
    const proxy = await startProxy(cluster)
    const workers = await Promise.all([1, 2, 3].map(() => forkWorker(proxy, { module, concurrency: 2 })))
    const client = openClient(cluster)
    const started = await Promise.all(Array.from({ length: 6 }, () => client.start(staysBriefly)))
    const holderOf = (id: string): Promise<unknown> => Promise.any(workers.map((worker) => worker.hear('entered', id)))
    await Promise.all(started.map((run) => holderOf(run.id)))

    if (isNetwork) {
      proxy.refuse()
      proxy.cutNow()
    } else await cluster.stop('immediate')
    // Each has given its claims up: their leases are about to end.
    await Promise.all(workers.map((worker) => worker.hearLog('could not be renewed in time')))
    if (isNetwork) proxy.mend()
    else await cluster.start()

    for (const worker of workers) worker.order('go')
    expect(await Promise.all(started.map((run) => client.result(run)))).toEqual(started.map(() => 1))
    expect(workers.every((worker) => worker.isAlive)).toBe(true)
    await Promise.all(workers.map((worker) => worker.terminate()))
  },
)
