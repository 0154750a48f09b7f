/** graphile-worker alone, at its best batched setting: one empty job a run. It keeps no steps, whatever the work. */
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { count, inChunks, type Peer } from './peer.ts'

const logger = new Logger(() => () => {})

export const graphile: Peer = {
  async openClient({ connectionString, runs }) {
    const utils = await makeWorkerUtils({ connectionString, logger })
    await utils.migrate()
    return {
      enqueue: () =>
        inChunks(runs, 500, 2, (numbers) =>
          utils.addJobs(numbers.map((number) => ({ identifier: 'bench', payload: { i: number } }))),
        ),
      close: async () => utils.release(),
    }
  },

  async startWorker({ connectionString, slots }, finished) {
    const runner = await run({
      logger,
      noHandleSignals: true,
      preset: {
        worker: {
          connectionString,
          concurrentJobs: slots,
          maxPoolSize: 40,
          localQueue: { size: Math.max(500, slots) },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      taskList: { bench: async () => finished() },
    })
    return { stop: () => runner.stop() }
  },

  async countDone(database, { runs }) {
    return runs - (await count(database, 'select count(*) from graphile_worker._private_jobs'))
  },

  async countSteps() {
    return undefined
  },
}
