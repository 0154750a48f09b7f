import { expect, test } from 'vitest'
import { startCluster } from '../support/cluster.ts'
import { useDatabase } from '../support/database.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { openClient, startWorker } from '../support/worker.ts'
import { double } from './double.ts'
import { starting } from './starting-workflows.ts'

const database = useDatabase()

test('RUN-01: a run started with no worker about is there, and runs when a worker comes', async () => {
  const client = openClient(database)
  const started = await client.start(double, 21)
  expect(started).toMatchObject({ created: true, state: 'waiting' })
  expect(await client.get(started)).toMatchObject({ state: 'waiting', attempt: 0, input: 21 })
  await startWorker(database, { workflows: [double] })
  expect(await client.result(started)).toBe(42)
})

test('RUN-01: a start that returned outlives its process and a crash of the server the next instant', async () => {
  const cluster = await startCluster()
  try {
    await migrateDatabase(cluster.connectionString)
    const client = openClient(cluster)
    const starter = await forkWorker(cluster, { module: new URL('starting-workflows.ts', import.meta.url) })
    await client.start(starting, cluster.connectionString, { maxAttempts: 1 })
    const { value } = await starter.hear('started')
    await Promise.all([starter.kill(), cluster.stop('immediate')])

    await cluster.start()
    const id = String(value)
    const worker = await startWorker(cluster, { workflows: [double] })
    expect(await client.result(id)).toBe(42)
    await worker.stop()
  } finally {
    await cluster.remove()
  }
})
