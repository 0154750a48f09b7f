import { expect, test } from 'vitest'
import { startCluster } from '../support/cluster.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { migrateDatabase } from '../support/migrate-database.ts'
import { openClient, recordingLogger, startWorker } from '../support/worker.ts'
import { neverEnds } from './working-workflows.ts'

test('OPS-02: with the server gone for good and a handler that never settles, a stop ends and so does the process', async () => {
  const cluster = await startCluster({ fsync: false })
  try {
    await migrateDatabase(cluster.connectionString)
    const module = new URL('working-workflows.ts', import.meta.url)
    const forked = await forkWorker(cluster, { module, concurrency: 1 })
    const client = openClient(cluster)
    await forked.hear('entered', (await client.start(neverEnds)).id)
    const logger = recordingLogger()
    const worker = await startWorker(cluster, { workflows: [neverEnds], logger })
    await client.start(neverEnds)
    await expect.poll(async () => (await client.list({ state: 'running' })).items.length).toBe(2)

    await cluster.stop('immediate')
    const ended = forked.terminate()
    await worker.stop({ grace: '1s' })
    await worker.done
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(forked.told.map(({ word }) => word)).toEqual(['entered', 'aborted'])
    expect(logger.lines.at(-1)?.message).toBe('The worker stopped.')
  } finally {
    await cluster.remove()
  }
})
