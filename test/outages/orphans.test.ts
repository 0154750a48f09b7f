import { expect, test } from 'vitest'
import { defineWorkflow } from '../../src/index.ts'
import { forkWorker } from '../support/fork-worker.ts'
import { useCluster } from '../support/use-cluster.ts'
import { openClient, signal, startWorker } from '../support/worker.ts'
import { staysBriefly } from './working-workflows.ts'
import { silentLogger } from '../../src/trace/bound-logger.ts'

const module = new URL('working-workflows.ts', import.meta.url)
const cluster = useCluster()

test.for(['has found the dead worker', 'has ended its claims', 'runs the first of them'])(
  'OPS-03: 250 runs of a killed worker all finish, though the server crashes when another %s',
  async (moment) => {
    const client = openClient(cluster)
    const killed = await forkWorker(cluster, { module, concurrency: 250 })
    const runs = await Promise.all(Array.from({ length: 250 }, () => client.start(staysBriefly)))
    await Promise.all(runs.map((run) => killed.hear('entered', run.id)))
    await killed.kill()

    const crash = signal()
    const cameTo = (message: string): void => {
      const words = { 'Workers were found dead': 'has found the dead worker', 'Claims of lost': 'has ended its claims' }
      if (Object.entries(words).some(([begin, name]) => name === moment && message.startsWith(begin))) crash.give()
    }
    await startWorker(cluster, {
      workflows: [
        defineWorkflow({
          name: staysBriefly.name,
          lease: '1.5s',
          handler: (_, run) => {
            if (moment === 'runs the first of them') crash.give()
            return run.step('work', () => run.attempt)
          },
        }),
      ],
      logger: { ...silentLogger, warn: (_, message) => cameTo(message) },
    })
    await crash.promise
    await cluster.stop('immediate')
    await cluster.start()
    const attempts = await Promise.all(runs.map((run) => client.result(run)))
    expect([attempts.length, ...new Set(attempts)]).toEqual([250, 2])
  },
)
